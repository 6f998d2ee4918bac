// SPDX-License-Identifier: Apache-2.0
/**
 * Delete: preconditions, finalizers, and the grace period of pods. Foreground and Orphan are deletions like Background: there
 * are no dependents without a garbage collector.
 */
import { at } from './json.ts';
import {
  collectionOf,
  existing,
  isDryRun,
  isHeld,
  timestamp,
  type Target,
  type WriteDeps,
  type Written,
} from './write-request.ts';
import { conflict, methodNotAllowed } from './status.ts';
import { keyOf, type StoredMeta, type StoredObject } from './store.ts';
import type { ResourceType } from './resource-type.ts';

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
  const held = isHeld(type, {
    ...previous,
    metadata: { ...previous.metadata, deletionGracePeriodSeconds: graceSeconds },
  });
  const dry = isDryRun(route) || options.dryRun?.includes('All') === true;
  const key = keyOf(previous.metadata.namespace, previous.metadata.name);
  if (!held) {
    if (dry) return { object: previous, outcome: 'deleted' };
    const last = collectionOf(deps, type).remove(key);
    type.deleted?.(last);
    return { object: last, outcome: 'deleted' };
  }
  const already = previous.metadata.deletionTimestamp !== undefined;
  const { generation } = previous.metadata;
  const shortened = graceSeconds < (previous.metadata.deletionGracePeriodSeconds ?? 0);
  if (already && !shortened) return { object: previous, outcome: 'updated' };
  const metadata: StoredMeta = {
    ...previous.metadata,
    deletionTimestamp: timestamp(deps.clock, graceSeconds),
    deletionGracePeriodSeconds: graceSeconds,
    // To be deleted is a change of what is wanted.
    ...(already || generation === undefined ? {} : { generation: generation + 1 }),
  };
  const marked = { ...previous, metadata };
  const object = type.terminating?.(marked) ?? marked;
  return { object: dry ? object : collectionOf(deps, type).put(key, object), outcome: 'updated' };
}

function checkPreconditions(type: ResourceType, previous: StoredObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = previous;
  // Here the server names the kind where it names the plural otherwise.
  const kind = { ...type, plural: type.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(kind, metadata.name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(kind, metadata.name, why);
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
