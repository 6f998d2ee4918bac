// SPDX-License-Identifier: Apache-2.0
/**
 * A Kubernetes API server in memory, behind the transport port.
 *
 * Guarantees: a request is one atomic step (it takes effect in the turn in which it is sent, or not at all); answers,
 * errors and watches are those of a real server of `discovery.version` for what the kinds of the table need; time and
 * identifiers come from the ports, so the same calls give the same bytes.
 *
 * Not here: controllers (nothing binds, attaches or collects garbage; see the sim package), encodings other than JSON,
 * garbage collection by owner references, aggregated discovery.
 */
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMerge } from './strategic-merge.ts';
import { authorize, everybodyIsAdmin, unauthorized, type Authenticate } from './access.ts';
import {
  badRequest,
  methodNotAllowed,
  noSuchPath,
  notFound,
  Refusal,
  statusBody,
  successBody,
  unsupportedMediaType,
} from './status.ts';
import { builtInTypes } from './built-in.ts';
import { collectionId, groupVersion, type ResourceType } from './resource-type.ts';
import {
  apply,
  create,
  existing,
  patch,
  remove,
  timestamp,
  update,
  type Admission,
  type DeleteOptions,
  type Target,
  type Written,
} from './write.ts';
import { createStore, keyOf, type StoredMeta, type StoredObject } from './store.ts';
import { copyJson, isObject } from './json.ts';
import { discover } from './discovery.ts';
import { list, selection } from './list.ts';
import { openWatch, type Watch } from './watch.ts';
import { parseRoute, type Route } from './route.ts';
import { represent, representList, representationFor } from './representation.ts';
import {
  TransportError,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../../src/api/transport.ts';
import type { Clock } from '../../src/clock/clock.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ObjectRef } from '../../src/api/client.ts';
import type { Random } from '../../src/clock/random.ts';
import type { Resource } from '../../src/api/resource.ts';

export interface FakeApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Beside the built-in kinds. */
  readonly types?: readonly ResourceType[];
  /** Default: everybody may do everything. */
  readonly authenticate?: Authenticate;
  /** Run in order on every create and update. Default none. */
  readonly admission?: readonly Admission[];
  /** `unsupported` answers sendInitialEvents with 422, as servers without the feature do. Default `supported`. */
  readonly watchList?: 'supported' | 'unsupported';
  /** Changes remembered per collection for watches. Default 20,000. */
  readonly historyLimit?: number;
  /** Requests remembered. Default 100,000; the oldest go first. */
  readonly requestLimit?: number;
}

/** One answered request. */
export interface RequestRecord {
  readonly verb: Route['verb'];
  readonly group: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** With the query. */
  readonly path: string;
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  readonly userAgent: string;
  readonly user: string;
  /** As sent; undefined when there was none or it was no JSON. */
  readonly body: unknown;
  readonly code: number;
}

export interface FakeApiServer {
  readonly transport: Transport;
  /** Everything asked so far, in the order of the answers. */
  readonly requests: readonly RequestRecord[];
  /** The requests that write, whatever became of them. */
  readonly writes: () => readonly RequestRecord[];
  readonly clearRequests: () => void;
  readonly objects: ObjectAccess;
  /** Stores an object without validation, admission or a request; identity and defaults are filled in, status is kept. */
  readonly seed: <T extends KubeObject>(object: T) => T;
  readonly addTypes: (...types: readonly ResourceType[]) => void;
  readonly types: () => readonly ResourceType[];
  /** Forgets the history: older resource versions answer 410 from now on. */
  readonly compact: () => void;
  /** Ends all open watches: cleanly as on a timeout, or by cutting the connection. */
  readonly endWatches: (how: 'clean' | 'broken') => void;
  readonly openWatches: () => number;
}

/** The stored objects, for arranging and asserting; nothing of it is recorded. */
export interface ObjectAccess {
  readonly get: <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef) => T | undefined;
  readonly list: <T extends KubeObject>(resource: Resource<T>) => readonly T[];
  /** Replaces an object by what `change` makes of it, as another client would; the version moves on. */
  readonly change: <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, change: (object: T) => T) => T;
  /** Removes it at once, whatever its finalizers say. */
  readonly remove: (resource: Resource, ref: ObjectRef) => void;
}

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

interface Answer {
  readonly code: number;
  readonly body: object;
}

export function createFakeApiServer(options: FakeApiServerOptions): FakeApiServer {
  const { clock, random } = options;
  const store = createStore(options.historyLimit === undefined ? {} : { historyLimit: options.historyLimit });
  const types: ResourceType[] = [...builtInTypes, ...(options.types ?? [])];
  const authenticate = options.authenticate ?? everybodyIsAdmin;
  const admission = options.admission ?? [];
  const admit: Admission = (request) =>
    admission.reduce((object, plugin) => plugin({ ...request, object }), request.object);
  const deps = { store, clock, random, admit };
  const watches = new Set<Watch>();
  const requestLimit = options.requestLimit ?? 100_000;
  const requests: RequestRecord[] = [];

  function typeOf(resource: Pick<Resource, 'group' | 'version' | 'plural'>): ResourceType | undefined {
    const { group, version, plural } = resource;
    return types.find((type) => type.group === group && type.version === version && type.plural === plural);
  }

  function answer(route: Route, request: TransportRequest, body: unknown): Answer {
    const type = typeOf({ group: route.group, version: route.version, plural: route.resource });
    if (type === undefined) throw noSuchPath();
    const target: Target = { type, route };
    checkTarget(target);
    const as = representationFor(request.headers['accept']);
    switch (route.verb) {
      case 'get':
        return { code: 200, body: represent(existing(deps, target), as) };
      case 'list':
      case 'watch':
        return { code: 200, body: representList({ type, ...list(store, type, route) }, as) };
      case 'create':
        if (route.name !== undefined) throw methodNotAllowed();
        return { code: 201, body: represent(create(deps, target, body), as) };
      case 'update':
        return written(update(deps, target, body));
      case 'patch':
        return written(patched(target, request, body));
      case 'delete':
        return deleted(type, remove(deps, target, deleteOptions(route, body)));
      case 'deletecollection':
        return deleteAll(target, body);
    }
  }

  function patched(target: Target, request: TransportRequest, body: unknown): Written {
    const { query } = target.route;
    const mediaType = (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
    if (mediaType !== patchTypes.apply) return patch(deps, target, patchWith(target.type, mediaType, body));
    const manager = query.get('fieldManager') ?? '';
    return apply(deps, target, { config: body, manager, force: query.get('force') === 'true' });
  }

  function deleteAll({ type, route }: Target, body: unknown): Answer {
    const selected = (store.collection(collectionId(type)).list() ?? []).filter(selection(type, route));
    for (const { metadata } of selected) {
      const target = { type, route: { ...route, name: metadata.name, namespace: metadata.namespace } };
      remove(deps, target, deleteOptions(route, body));
    }
    return { code: 200, body: representList({ type, items: selected, metadata: {} }, 'whole') };
  }

  function watch(route: Route, request: TransportRequest): TransportResponse {
    const type = typeOf({ group: route.group, version: route.version, plural: route.resource });
    if (type === undefined) throw noSuchPath();
    const as = representationFor(request.headers['accept']);
    const watchDeps = { store, clock, random, watchList: options.watchList ?? 'supported' };
    const opened = openWatch(watchDeps, { type, route, as, signal: request.signal }, () => watches.delete(opened));
    watches.add(opened);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: opened.body };
  }

  function record(route: Route, request: TransportRequest, facts: Pick<RequestRecord, 'body' | 'code' | 'user'>): void {
    const { verb, group, resource, subresource, namespace, name } = route;
    const { 'content-type': contentType, 'user-agent': userAgent = '', accept } = request.headers;
    const place = { verb, group, resource, subresource, namespace, name };
    requests.push({ ...place, path: request.path, contentType, accept, userAgent, ...facts });
    if (requests.length > requestLimit) requests.splice(0, Math.ceil(requestLimit / 2));
  }

  const transport: Transport = async (request) => {
    if (request.signal.aborted)
      throw new TransportError('aborted', 'the request was aborted', { cause: request.signal.reason });
    const route = parseRoute(request.method, request.path);
    let user = '';
    let body: unknown;
    try {
      const subject = authenticate(callerOf(request));
      if (subject === undefined) throw unauthorized();
      user = subject.user;
      authorize(subject, route);
      body = parseBody(request);
      if (route.resource === '') {
        const document = request.method === 'GET' ? wellKnown(route.path, types) : undefined;
        if (document === undefined) throw noSuchPath();
        record(route, request, { body, code: 200, user });
        return typeof document === 'string' ? textResponse(document) : jsonResponse({ code: 200, body: document });
      }
      if (route.verb === 'watch') {
        const response = watch(route, request);
        record(route, request, { body, code: 200, user });
        return response;
      }
      const result = answer(route, request, body);
      record(route, request, { body, code: result.code, user });
      return jsonResponse(result);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      record(route, request, { body, code: error.facts.code, user });
      return jsonResponse({ code: error.facts.code, body: statusBody(error.facts) });
    }
  };

  function seed<T extends KubeObject>(object: T): T {
    const type = types.find((each) => each.kind === object.kind && groupVersion(each) === object.apiVersion);
    if (type === undefined) throw new Error(`unknown kind ${object.apiVersion ?? ''} ${object.kind ?? ''}`);
    const name = object.metadata?.name;
    if (name === undefined) throw new Error('an object to seed needs a name');
    const identity = { uid: random.uuid(), creationTimestamp: timestamp(clock) };
    const place = type.namespaced ? { namespace: 'default' } : {};
    const metadata = { ...identity, ...place, ...object.metadata } as StoredMeta;
    const copy = copyJson({ ...object, metadata }) as unknown as StoredObject;
    const stored = type.defaults?.(copy) ?? copy;
    return store.collection(collectionId(type)).put(keyOf(metadata.namespace, name), stored) as unknown as T;
  }

  const objects: ObjectAccess = {
    get: <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef) =>
      store.collection(collectionId(resource)).get(keyOf(ref.namespace, ref.name)) as unknown as T | undefined,
    list: <T extends KubeObject>(resource: Resource<T>) =>
      (store.collection(collectionId(resource)).list() ?? []) as unknown as readonly T[],
    change<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, change: (object: T) => T) {
      const collection = store.collection(collectionId(resource));
      const key = keyOf(ref.namespace, ref.name);
      const current = collection.get(key);
      if (current === undefined) throw notFound(resource, ref.name);
      return collection.put(key, copyJson(change(current as unknown as T)) as unknown as StoredObject) as unknown as T;
    },
    remove: (resource, ref) => void store.collection(collectionId(resource)).remove(keyOf(ref.namespace, ref.name)),
  };

  return {
    transport,
    requests,
    writes: () => requests.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb)),
    clearRequests: () => void requests.splice(0),
    objects,
    seed,
    addTypes: (...added) => void types.push(...added),
    types: () => types,
    compact: () => store.compact(),
    endWatches(how) {
      for (const open of watches) open.close(how);
    },
    openWatches: () => watches.size,
  };
}

function checkTarget({ type, route }: Target): void {
  const { subresource, namespace, verb } = route;
  if (subresource !== undefined && !(subresource === 'status' && type.status !== 'absent')) throw noSuchPath();
  if (!type.namespaced && namespace !== undefined) throw noSuchPath();
  const acrossNamespaces = verb === 'list' || verb === 'watch';
  if (type.namespaced && namespace === undefined && !acrossNamespaces) throw noSuchPath();
}

function patchWith(type: ResourceType, mediaType: string, body: unknown): (current: StoredObject) => unknown {
  if (mediaType === patchTypes.json) return (current) => applyJsonPatch(current, body);
  if (mediaType === patchTypes.merge) return (current) => applyMergePatch(current, body);
  if (mediaType === patchTypes.strategic && type.custom !== true) {
    if (!isObject(body)) throw badRequest('a strategic merge patch must be an object');
    return (current) => applyStrategicMerge(current, body);
  }
  const accepted = Object.values(patchTypes).filter((each) => type.custom !== true || each !== patchTypes.strategic);
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

function written({ object, outcome }: Written): Answer {
  return { code: outcome === 'created' ? 201 : 200, body: object };
}

function deleted(type: ResourceType, { object, outcome }: Written): Answer {
  if (outcome !== 'deleted' || type.deleteAnswer === 'object') return { code: 200, body: object };
  return { code: 200, body: successBody(type, object.metadata) };
}

function callerOf(request: TransportRequest): { readonly userAgent: string; readonly token: string | undefined } {
  const { authorization = '', 'user-agent': userAgent = '' } = request.headers;
  return { userAgent, token: authorization.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : undefined };
}

function parseBody(request: TransportRequest): unknown {
  if (request.body === undefined || request.body.length === 0) return undefined;
  try {
    return JSON.parse(Buffer.from(request.body).toString()) as unknown;
  } catch {
    throw badRequest("couldn't decode the body: it is no JSON");
  }
}

function wellKnown(path: string, types: readonly ResourceType[]): object | string | undefined {
  if (/^\/(readyz|livez|healthz)(\/|$)/.test(path)) return 'ok';
  return discover(path, types);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function jsonResponse({ code, body }: Answer): TransportResponse {
  return {
    status: code,
    headers: { 'content-type': 'application/json' },
    body: once(Buffer.from(JSON.stringify(body))),
  };
}

function textResponse(text: string): TransportResponse {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: once(Buffer.from(text)) };
}
