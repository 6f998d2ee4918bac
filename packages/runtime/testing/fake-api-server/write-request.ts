// SPDX-License-Identifier: Apache-2.0
/** What every write starts from: its target, the decoded object, and what the stored one is compared and marked with. */
import { at, copyJson, isObject, sameJson, type JsonObject } from './json.ts';
import { badRequest, notFound } from './status.ts';
import { collectionId, groupVersion, type ResourceType } from './resource-type.ts';
import { keyOf, type Collection, type Store, type StoredMeta, type StoredObject } from './store.ts';
import type { Clock } from '../../src/clock/clock.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ObjectRef } from '../../src/api/client.ts';
import type { Resource } from '../../src/api/resource.ts';
import type { Random } from '../../src/clock/random.ts';
import type { Route } from './route.ts';

export interface WriteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly mutate: (request: Omit<AdmittedWrite, 'objects'>) => StoredObject;
  readonly validate: (request: Omit<AdmittedWrite, 'objects'>) => void;
}

/** An admission plugin. Both parts may throw a Refusal. */
export interface Admission {
  /** Before validation: the object to go on with. */
  readonly mutate?: (request: AdmittedWrite) => StoredObject;
  /** After validation. */
  readonly validate?: (request: AdmittedWrite) => void;
}

/** What an admission plugin is given. */
export interface AdmittedWrite {
  readonly operation: 'create' | 'update';
  readonly type: ResourceType;
  readonly subresource: string | undefined;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
  /** What else is stored. */
  readonly objects: ObjectView;
}

/** The stored objects, to look at. */
export interface ObjectView {
  readonly get: <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef) => T | undefined;
  readonly list: <T extends KubeObject>(resource: Resource<T>) => readonly T[];
}

export interface Target {
  readonly type: ResourceType;
  readonly route: Route;
}

export interface Written {
  readonly object: StoredObject;
  readonly outcome: 'created' | 'updated' | 'deleted';
}

/** Now, or so many seconds later, as metav1.Time. */
export function timestamp(clock: Clock, laterSeconds: number = 0): string {
  return `${new Date(clock.nowMs() + laterSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

export function collectionOf(deps: WriteDeps, type: ResourceType): Collection {
  return deps.store.collection(collectionId(type));
}

export function isDryRun(route: Route): boolean {
  return route.query.get('dryRun') === 'All';
}

export function existing(deps: Pick<WriteDeps, 'store'>, target: Target): StoredObject {
  const { type, route } = target;
  const name = route.name ?? '';
  const found = deps.store.collection(collectionId(type)).get(keyOf(route.namespace, name));
  if (found === undefined) throw notFound(type, name);
  return found;
}

/** The decoded body of a write, checked against the URL. */
export function decodeObject(target: Target, body: unknown): JsonObject {
  const { type, route } = target;
  if (!isObject(body)) throw badRequest(`the body of the request was not a ${type.kind}`);
  checkKind(type, body);
  type.decode?.(body);
  const namespace = at(body, 'metadata', 'namespace');
  if (type.namespaced && namespace !== undefined && namespace !== '' && namespace !== route.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return copyJson(body, type.custom === true ? 'keep nulls' : 'drop nulls');
}

/** A built-in kind may leave its name out; a custom one may not. */
function checkKind(type: ResourceType, body: JsonObject): void {
  const { kind, apiVersion } = body;
  if (type.custom === true && (kind === undefined || apiVersion === undefined)) {
    const missing = kind === undefined ? 'Kind' : 'apiVersion';
    const text = JSON.stringify(body);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${type.kind}): Object '${missing}' is missing in '${text}' (${text})`,
    );
  }
  if ((kind ?? type.kind) === type.kind && (apiVersion ?? groupVersion(type)) === groupVersion(type)) return;
  const sent = typeof kind === 'string' ? kind : type.kind;
  throw badRequest(
    `${sent} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${type.kind}: unknown conversion`,
  );
}

/** Whether an object that is being deleted stays: a finalizer, a grace period that a kubelet ends, or what the kind says. */
export function isHeld(type: ResourceType, object: StoredObject): boolean {
  const { finalizers = [], deletionGracePeriodSeconds: grace = 0 } = object.metadata;
  return finalizers.length > 0 || grace > 0 || type.holds?.(object) === true;
}

/** No labels and an empty map of labels are the same. */
function isEmptyCollection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** The object a request describes, with its identity filled in from the URL and from `identity`. */
export function assemble(target: Target, body: JsonObject, identity: Partial<StoredMeta>): StoredObject {
  const { type, route } = target;
  const {
    namespace: _namespace,
    resourceVersion: _version,
    selfLink: _link,
    ...metadata
  } = (body['metadata'] ?? {}) as StoredMeta & {
    selfLink?: string;
  };
  const kept = Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isEmptyCollection(value)));
  const placed = type.namespaced ? { ...kept, namespace: route.namespace ?? 'default' } : kept;
  // One order of fields for all writes, so that stored objects compare and read alike.
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...content } = body;
  return {
    apiVersion: groupVersion(type),
    kind: type.kind,
    metadata: { ...placed, ...identity } as StoredMeta,
    ...content,
  };
}

export function withStatus(object: StoredObject, status: unknown): StoredObject {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
}

export function countGeneration(type: ResourceType, object: StoredObject, previous: StoredObject): StoredObject {
  if (type.generation !== true) return object;
  const { metadata: _m, status: _s, ...desired } = object;
  const { metadata: _pm, status: _ps, ...before } = previous;
  if (sameJson(desired, before)) return object;
  return { ...object, metadata: { ...object.metadata, generation: (previous.metadata.generation ?? 0) + 1 } };
}
