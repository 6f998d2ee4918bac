// SPDX-License-Identifier: Apache-2.0
/**
 * Update, patch and apply, which all end in one replacement: optimistic locking, the split between an object and its
 * status, the last finalizer of a deleted object, and writes that change nothing.
 */
import { applyConfiguration } from './server-side-apply.ts';
import {
  assemble,
  collectionOf,
  countGeneration,
  decodeObject,
  existing,
  isDryRun,
  isHeld,
  timestamp,
  withStatus,
  type Target,
  type WriteDeps,
  type Written,
} from './write-request.ts';
import { at, sameJson, textAt, type JsonObject } from './json.ts';
import { badRequest, conflict, invalid, missingVersion, notFound, required, type FieldCause } from './status.ts';
import { create } from './create.ts';
import { keyOf, type StoredMeta, type StoredObject } from './store.ts';
import { metadataCauses, metadataUpdateCauses } from './names.ts';
import type { ResourceType } from './resource-type.ts';

export function update(deps: WriteDeps, target: Target, body: unknown): Written {
  const { type, route } = target;
  const decoded = decodeObject(target, body);
  checkName(target, decoded);
  const previous = collectionOf(deps, type).get(keyOf(route.namespace, route.name ?? ''));
  if (previous === undefined) {
    if (type.createOnUpdate !== true) throw notFound(type, route.name ?? '');
    if (textAt(decoded, 'metadata', 'resourceVersion') !== '') throw conflict(type, route.name ?? '');
    const named = { ...decoded, metadata: { ...(decoded['metadata'] as object | undefined), name: route.name } };
    return { object: create(deps, target, named), outcome: 'created' };
  }
  const uid = at(decoded, 'metadata', 'uid');
  if (typeof uid === 'string' && uid !== '' && uid !== previous.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${previous.metadata.uid}`;
    throw conflict(type, previous.metadata.name, why);
  }
  const locked = at(decoded, 'metadata', 'resourceVersion') ?? '';
  if (locked === '' && (type.unlockedUpdate === 'refuse' || type.custom === true)) {
    throw missingVersion(type, previous.metadata.name);
  }
  return replace(deps, target, { previous, body: decoded });
}

function checkName({ route }: Target, body: JsonObject): void {
  const name = textAt(body, 'metadata', 'name');
  if (name === '' || name === route.name) return;
  throw badRequest(`the name of the object (${name}) does not match the name on the URL (${route.name ?? ''})`);
}

/** `change` computes the new body from the current object; there is no conflict unless the body names a version. */
export function patch(deps: WriteDeps, target: Target, change: (current: StoredObject) => unknown): Written {
  const previous = existing(deps, target);
  const body = decodeObject(target, change(previous));
  checkName(target, body);
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
  if (route.subresource === 'status') object = type.nextStatus?.(object, previous, timestamp(deps.clock)) ?? object;
  object = type.defaults?.(object) ?? object;
  object = countGeneration(type, object, previous);
  const request = { operation: 'update', type, subresource: route.subresource, previous } as const;
  object = deps.mutate({ ...request, object });
  const causes = [
    ...metadataUpdateCauses(offeredIdentity(offered, object), previous),
    ...newCauses(type, object, previous),
    ...(type.validateUpdate?.(object, previous) ?? []),
  ];
  if (causes.length > 0) throw invalid(type, previous.metadata.name, causes);
  deps.validate({ ...request, object });
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
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
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
  if (previous.metadata.deletionTimestamp !== undefined && !isHeld(target.type, object)) {
    const last = collection.remove(key);
    target.type.deleted?.(last);
    return { object, outcome: 'deleted' };
  }
  const stored = collection.put(key, object);
  target.type.stored?.(stored);
  return { object: stored, outcome: 'updated' };
}
