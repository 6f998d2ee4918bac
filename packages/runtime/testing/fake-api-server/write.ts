// SPDX-License-Identifier: Apache-2.0
/**
 * Create, update, patch and delete with the rules that are common to all kinds: names, uids, optimistic locking, the
 * split between an object and its status, finalizers and the end of a deletion, and writes that change nothing.
 *
 * Every function is one atomic step on the store.
 */
import {
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  invalidValue,
  methodNotAllowed,
  notFound,
  required,
  type FieldCause,
} from './status.ts';
import { applyConfiguration } from './server-side-apply.ts';
import { at, copyJson, isObject, sameJson, textAt, type JsonObject } from './json.ts';
import { collectionId, groupVersion, type ResourceType } from './resource-type.ts';
import { keyOf, type Collection, type Store, type StoredMeta, type StoredObject } from './store.ts';
import { metadataCauses, metadataUpdateCauses } from './names.ts';
import type { Clock } from '../../src/clock/clock.ts';
import type { Random } from '../../src/clock/random.ts';
import type { Route } from './route.ts';

export interface WriteDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly admit: Admission;
}

/** Mutating and validating admission in one: returns the object to store, or throws a Refusal. */
export type Admission = (request: AdmissionRequest) => StoredObject;

export interface AdmissionRequest {
  readonly operation: 'create' | 'update';
  readonly type: ResourceType;
  readonly subresource: string | undefined;
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

export interface Target {
  readonly type: ResourceType;
  readonly route: Route;
}

const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const longestGeneratedBase = 63 - suffixLength;

export function timestamp(clock: Clock): string {
  return `${new Date(clock.nowMs()).toISOString().slice(0, 19)}Z`;
}

function collectionOf(deps: WriteDeps, type: ResourceType): Collection {
  return deps.store.collection(collectionId(type));
}

function isDryRun(route: Route): boolean {
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
  const kind = body['kind'] ?? type.kind;
  const version = body['apiVersion'] ?? groupVersion(type);
  if (kind !== type.kind || version !== groupVersion(type)) {
    throw badRequest(
      `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(version)}`,
    );
  }
  type.decode?.(body);
  const namespace = at(body, 'metadata', 'namespace');
  if (type.namespaced && namespace !== undefined && namespace !== '' && namespace !== route.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return copyJson(body);
}

/** The object a request describes, with its identity filled in from the URL and from `identity`. */
function assemble(target: Target, body: JsonObject, identity: Partial<StoredMeta>): StoredObject {
  const { type, route } = target;
  const {
    namespace: _namespace,
    resourceVersion: _version,
    selfLink: _link,
    ...metadata
  } = (body['metadata'] ?? {}) as StoredMeta & {
    selfLink?: string;
  };
  const placed = type.namespaced ? { ...metadata, namespace: route.namespace ?? 'default' } : metadata;
  // One order of fields for all writes, so that stored objects compare and read alike.
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...content } = body;
  return {
    apiVersion: groupVersion(type),
    kind: type.kind,
    metadata: { ...placed, ...identity } as StoredMeta,
    ...content,
  };
}

export function create(deps: WriteDeps, target: Target, body: unknown): StoredObject {
  const { type, route } = target;
  const decoded = decodeObject(target, body);
  const asked = at(decoded, 'metadata', 'resourceVersion');
  if (asked !== undefined && asked !== '')
    throw badRequest('resourceVersion should not be set on objects to be created');
  const name = freeName(deps, target, decoded);
  const now = timestamp(deps.clock);
  const identity = { name, uid: deps.random.uuid(), creationTimestamp: now, resourceVersion: '' };
  const {
    deletionTimestamp: _d,
    deletionGracePeriodSeconds: _g,
    ...metadata
  } = (decoded['metadata'] ?? {}) as StoredMeta;
  const generation = type.generation === true ? { generation: 1 } : {};
  let object = assemble(target, { ...decoded, metadata }, { ...identity, ...generation });
  const status = type.initialStatus?.(now);
  if (status !== undefined) object = { ...object, status };
  else if (type.custom === true && type.status !== 'absent') object = withStatus(object, undefined);
  object = type.defaults?.(object) ?? object;
  object = deps.admit({ operation: 'create', type, subresource: undefined, object, previous: undefined });
  const causes = [...metadataCauses(type, object), ...(type.validate?.(object) ?? [])];
  if (causes.length > 0) throw invalid(type, name, causes);
  const key = keyOf(object.metadata.namespace, name);
  if (collectionOf(deps, type).get(key) !== undefined) throw alreadyExists(type, name);
  return isDryRun(route) ? object : collectionOf(deps, type).put(key, object);
}

function freeName(deps: WriteDeps, target: Target, body: JsonObject): string {
  const name = at(body, 'metadata', 'name');
  if (typeof name === 'string' && name !== '') return name;
  const base = at(body, 'metadata', 'generateName');
  if (typeof base !== 'string' || base === '') return '';
  const { type, route } = target;
  let candidate = '';
  // The server itself tries again when the random suffix is taken.
  for (let attempt = 0; attempt < 8; attempt += 1) {
    candidate = base.slice(0, longestGeneratedBase) + suffix(deps.random);
    if (collectionOf(deps, type).get(keyOf(type.namespaced ? route.namespace : undefined, candidate)) === undefined)
      break;
  }
  return candidate;
}

function suffix(random: Random): string {
  let text = '';
  while (text.length < suffixLength) text += suffixLetters[Math.floor(random.next() * suffixLetters.length)];
  return text;
}

export interface Written {
  readonly object: StoredObject;
  readonly outcome: 'created' | 'updated' | 'deleted';
}

export function update(deps: WriteDeps, target: Target, body: unknown): Written {
  const { type, route } = target;
  const decoded = decodeObject(target, body);
  const name = textAt(decoded, 'metadata', 'name');
  if (name !== '' && name !== route.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${route.name ?? ''})`);
  }
  const previous = collectionOf(deps, type).get(keyOf(route.namespace, route.name ?? ''));
  if (previous === undefined) {
    if (type.createOnUpdate !== true) throw notFound(type, route.name ?? '');
    const { resourceVersion: _, ...metadata } = (decoded['metadata'] ?? {}) as StoredMeta;
    const named = { ...decoded, metadata: { ...metadata, name: route.name } };
    return { object: create(deps, target, named), outcome: 'created' };
  }
  const uid = at(decoded, 'metadata', 'uid');
  if (typeof uid === 'string' && uid !== '' && uid !== previous.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${previous.metadata.uid}`;
    throw conflict(type, previous.metadata.name, why);
  }
  const locked = at(decoded, 'metadata', 'resourceVersion') ?? '';
  if (locked === '' && (type.unlockedUpdate === 'refuse' || type.custom === true)) {
    const cause = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update');
    throw invalid(type, previous.metadata.name, [cause]);
  }
  return replace(deps, target, { previous, body: decoded });
}

/** `change` computes the new body from the current object; there is no conflict unless the body names a version. */
export function patch(deps: WriteDeps, target: Target, change: (current: StoredObject) => unknown): Written {
  const previous = existing(deps, target);
  const body = decodeObject(target, change(previous));
  return replace(deps, target, { previous, body });
}

export interface Appliance {
  readonly config: unknown;
  readonly manager: string;
  readonly force: boolean;
}

/** Server-side apply: creates what is absent. */
export function apply(deps: WriteDeps, target: Target, { config, manager, force }: Appliance): Written {
  const { type, route } = target;
  if (manager === '') {
    const options = { ...type, group: 'meta.k8s.io', kind: 'PatchOptions' };
    throw invalid(options, '', [required('fieldManager', 'is required for apply patch')]);
  }
  const decoded = decodeObject(target, config);
  const live = collectionOf(deps, type).get(keyOf(route.namespace, route.name ?? ''));
  const body = applyConfiguration({ live, config: decoded, manager, force, now: timestamp(deps.clock) });
  if (live !== undefined) return replace(deps, target, { previous: live, body });
  if (route.subresource !== undefined) throw notFound(type, route.name ?? '');
  const named = { ...body, metadata: { ...(body['metadata'] as object | undefined), name: route.name } };
  return { object: create(deps, target, named), outcome: 'created' };
}

interface Replacement {
  readonly previous: StoredObject;
  readonly body: JsonObject;
}

function replace(deps: WriteDeps, target: Target, { previous, body }: Replacement): Written {
  const { type, route } = target;
  const asked = at(body, 'metadata', 'resourceVersion') ?? '';
  if (asked !== '' && asked !== previous.metadata.resourceVersion) throw conflict(type, previous.metadata.name);
  const kept = keptMetadata(previous);
  const offered = assemble(target, body, {});
  const { managedFields } = previous.metadata;
  let object = { ...offered, metadata: { ...(managedFields && { managedFields }), ...offered.metadata, ...kept } };
  object = separateStatus(target, object, previous);
  object = type.defaults?.(object) ?? object;
  object = countGeneration(type, object, previous);
  object = deps.admit({ operation: 'update', type, subresource: route.subresource, object, previous });
  const causes = [
    ...metadataUpdateCauses(offeredIdentity(offered, object), previous),
    ...newCauses(type, object, previous),
    ...(type.validateUpdate?.(object, previous) ?? []),
  ];
  if (causes.length > 0) throw invalid(type, previous.metadata.name, causes);
  return store(deps, target, { object, previous });
}

/** What was wrong before is not held against an update: a test may seed less than a valid object. */
function newCauses(type: ResourceType, object: StoredObject, previous: StoredObject): readonly FieldCause[] {
  const all = (each: StoredObject): readonly FieldCause[] => [
    ...metadataCauses(type, each),
    ...(type.validate?.(each) ?? []),
  ];
  const known = all(previous);
  return all(object).filter((cause) => !known.some((other) => sameJson(other, cause)));
}

/** What no client may change; uid and friends are checked separately so that a wrong one is refused. */
function keptMetadata(previous: StoredObject): Partial<StoredMeta> {
  const { resourceVersion, deletionTimestamp, deletionGracePeriodSeconds, generation, generateName } =
    previous.metadata;
  const { name, namespace, uid, creationTimestamp } = previous.metadata;
  const kept = {
    name,
    namespace,
    uid,
    creationTimestamp,
    resourceVersion,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    generation,
    generateName,
  };
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)) as Partial<StoredMeta>;
}

/** The object as stored, but with the identity the client claimed. */
function offeredIdentity(offered: StoredObject, object: StoredObject): StoredObject {
  const claimed = Object.fromEntries(
    (['uid', 'name', 'creationTimestamp'] as const)
      .map((field) => [field, offered.metadata[field]] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  return { ...object, metadata: { ...object.metadata, ...claimed } };
}

function separateStatus(target: Target, object: StoredObject, previous: StoredObject): StoredObject {
  const { type, route } = target;
  if (route.subresource === 'status') {
    const metadata = type.status === 'statusOnly' ? previous.metadata : object.metadata;
    return withStatus({ ...previous, metadata }, object['status']);
  }
  return type.status === 'absent' ? object : withStatus(object, previous['status']);
}

function withStatus(object: StoredObject, status: unknown): StoredObject {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
}

function countGeneration(type: ResourceType, object: StoredObject, previous: StoredObject): StoredObject {
  if (type.generation !== true) return object;
  const { metadata: _m, status: _s, ...desired } = object;
  const { metadata: _pm, status: _ps, ...before } = previous;
  if (sameJson(desired, before)) return object;
  return { ...object, metadata: { ...object.metadata, generation: (previous.metadata.generation ?? 0) + 1 } };
}

interface Transition {
  readonly object: StoredObject;
  readonly previous: StoredObject;
}

/** The end of every update: no change, no write; the last finalizer gone, the object goes. */
function store(deps: WriteDeps, target: Target, { object, previous }: Transition): Written {
  if (sameJson(object, previous)) return { object: previous, outcome: 'updated' };
  if (isDryRun(target.route)) return { object, outcome: 'updated' };
  const key = keyOf(previous.metadata.namespace, previous.metadata.name);
  const collection = collectionOf(deps, target.type);
  if (previous.metadata.deletionTimestamp !== undefined && isReleased(object)) {
    collection.remove(key);
    return { object, outcome: 'deleted' };
  }
  return { object: collection.put(key, object), outcome: 'updated' };
}

/** Nothing holds an object that is being deleted: no finalizer, and no grace period that a kubelet has to end. */
function isReleased(object: StoredObject): boolean {
  return (object.metadata.finalizers ?? []).length === 0 && (object.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

export interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: readonly string[];
}

export function remove(deps: WriteDeps, target: Target, options: DeleteOptions): Written {
  const { type, route } = target;
  if (route.subresource !== undefined) throw methodNotAllowed();
  const previous = existing(deps, target);
  checkPreconditions(type, previous, options);
  const graceSeconds = gracePeriod(type, previous, options);
  // Foreground and Orphan are deletions like Background: there are no dependents without a garbage collector.
  const finalizers = previous.metadata.finalizers ?? [];
  const dry = isDryRun(route) || options.dryRun?.includes('All') === true;
  const key = keyOf(previous.metadata.namespace, previous.metadata.name);
  if (finalizers.length === 0 && graceSeconds === 0) {
    const last = dry ? previous : collectionOf(deps, type).remove(key);
    return { object: last, outcome: 'deleted' };
  }
  const already = previous.metadata.deletionTimestamp !== undefined;
  const shortened = graceSeconds < (previous.metadata.deletionGracePeriodSeconds ?? 0);
  if (already && !shortened) return { object: previous, outcome: 'updated' };
  const metadata: StoredMeta = {
    ...previous.metadata,
    deletionTimestamp: `${new Date(deps.clock.nowMs() + graceSeconds * 1000).toISOString().slice(0, 19)}Z`,
    deletionGracePeriodSeconds: graceSeconds,
  };
  const object = countGeneration(type, { ...previous, metadata }, previous);
  return { object: dry ? object : collectionOf(deps, type).put(key, object), outcome: 'updated' };
}

function checkPreconditions(type: ResourceType, previous: StoredObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = previous;
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
    throw conflict(type, metadata.name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`;
    throw conflict(type, metadata.name, why);
  }
}

/** Only a pod that a kubelet runs is deleted gracefully: the kubelet ends it with a second delete of period 0. */
function gracePeriod(type: ResourceType, object: StoredObject, options: DeleteOptions): number {
  if (type.group !== '' || type.plural !== 'pods') return 0;
  const scheduled = typeof at(object, 'spec', 'nodeName') === 'string';
  const finished = ['Succeeded', 'Failed'].includes(String(at(object, 'status', 'phase')));
  if (!scheduled || finished) return 0;
  return options.gracePeriodSeconds ?? Number(at(object, 'spec', 'terminationGracePeriodSeconds') ?? 30);
}
