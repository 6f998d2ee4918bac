// SPDX-License-Identifier: Apache-2.0
/** One request about a resource, other than a watch: from its verb to code and body. */
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMerge } from './strategic-merge.ts';
import { apply, patch, update } from './update.ts';
import { badRequest, methodNotAllowed, noSuchPath, noPatchType, successBody, unsupportedMediaType } from './status.ts';
import { collectionId, type ResourceType } from './resource-type.ts';
import { create } from './create.ts';
import { existing, type Target, type WriteDeps, type Written } from './write-request.ts';
import { isObject } from './json.ts';
import { list, selection } from './list.ts';
import { remove, type DeleteOptions } from './delete.ts';
import { represent, representList, representationFor } from './representation.ts';
import type { Route } from './route.ts';
import type { StoredObject } from './store.ts';
import type { TransportRequest } from '../../src/api/transport.ts';

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export interface Answer {
  readonly code: number;
  readonly body: object;
}

export interface Question {
  readonly target: Target;
  readonly headers: TransportRequest['headers'];
  /** Parsed; undefined when there was none. */
  readonly body: unknown;
}

export function answer(deps: WriteDeps, question: Question): Answer {
  const { target, headers, body } = question;
  const { type, route } = target;
  const as = representationFor(headers['accept']);
  switch (route.verb) {
    case 'get':
      return { code: 200, body: represent(type, existing(deps, target), as) };
    case 'list':
    case 'watch':
      return { code: 200, body: representList({ type, ...list(deps.store, type, route) }, as) };
    case 'create':
      if (route.name !== undefined) throw methodNotAllowed();
      return { code: 201, body: represent(type, create(deps, target, body), as) };
    case 'update':
      return written(type, update(deps, target, body));
    case 'patch':
      return written(type, patched(deps, question));
    case 'delete':
      return deleted(type, remove(deps, target, deleteOptions(route, body)));
    case 'deletecollection':
      return deleteAll(deps, target, body);
  }
}

function patched(deps: WriteDeps, { target, headers, body }: Question): Written {
  const { query } = target.route;
  const mediaType = (headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
  if (mediaType !== patchTypes.apply) return patch(deps, target, patchWith(target.type, mediaType, body));
  const manager = query.get('fieldManager') ?? '';
  return apply(deps, target, { config: body, manager, force: query.get('force') === 'true' });
}

function deleteAll(deps: WriteDeps, { type, route }: Target, body: unknown): Answer {
  const selected = (deps.store.collection(collectionId(type)).list() ?? []).filter(selection(type, route));
  for (const { metadata } of selected) {
    const target = { type, route: { ...route, name: metadata.name, namespace: metadata.namespace } };
    remove(deps, target, deleteOptions(route, body));
  }
  return { code: 200, body: representList({ type, items: selected, metadata: {} }, 'whole') };
}

/** Whether this kind has such a path at all. */
export function checkTarget({ type, route }: Target): void {
  const { subresource, namespace, verb } = route;
  if (subresource !== undefined && !(subresource === 'status' && type.status !== 'absent')) throw noSuchPath();
  if (!type.namespaced && namespace !== undefined) throw noSuchPath();
  const acrossNamespaces = verb === 'list' || verb === 'watch';
  if (type.namespaced && namespace === undefined && !acrossNamespaces) {
    throw route.name === undefined ? methodNotAllowed() : noSuchPath();
  }
  if ((verb === 'update' || verb === 'patch') && route.name === undefined) throw methodNotAllowed();
}

function patchWith(type: ResourceType, mediaType: string, body: unknown): (current: StoredObject) => unknown {
  if (mediaType === patchTypes.json) return (current) => applyJsonPatch(current, body);
  if (mediaType === patchTypes.merge) return (current) => applyMergePatch(current, body);
  if (mediaType === patchTypes.strategic && type.custom !== true) {
    if (!isObject(body)) throw badRequest('a strategic merge patch must be an object');
    return (current) => applyStrategicMerge(current, body);
  }
  if (type.custom !== true) throw noPatchType();
  const accepted = [patchTypes.json, patchTypes.merge, patchTypes.apply];
  throw unsupportedMediaType(accepted);
}

function deleteOptions(route: Route, body: unknown): DeleteOptions {
  const { query } = route;
  const grace = query.get('gracePeriodSeconds');
  return {
    ...(isObject(body) ? body : {}),
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
  };
}

function written(type: ResourceType, { object, outcome }: Written): Answer {
  return { code: outcome === 'created' ? 201 : 200, body: represent(type, object, 'whole') };
}

function deleted(type: ResourceType, { object, outcome }: Written): Answer {
  if (outcome !== 'deleted' || type.deleteAnswer === 'object')
    return { code: 200, body: represent(type, object, 'whole') };
  return { code: 200, body: successBody(type, object.metadata) };
}
