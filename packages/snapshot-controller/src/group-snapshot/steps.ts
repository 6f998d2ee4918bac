// SPDX-License-Identifier: Apache-2.0
/** What the steps do that only the VolumeGroupSnapshot loop has. No decisions: those are in `flow.ts`. */
import { keyOf, type ObjectKey, persistentVolumeClaims, type Run, toError, toObjectKey } from '@csi-sidecars/runtime';
import { type VolumeGroupSnapshot, type VolumeSnapshot, volumeSnapshots } from '@csi-sidecars/volume';
import { groupOwnerOf } from '../membership.ts';
import { readRestores } from '../restores.ts';
import { selectorLabel, selectorText } from '../selector.ts';
import type { Source } from '../source-volume.ts';
import * as writes from '../writes.ts';
import type { Member } from './members.ts';
import * as messages from './messages.ts';
import { membersBeingRestored, type GroupContext, type GroupWatched } from './observe.ts';
import { saveMember } from './save-member.ts';

export type GroupRun = Run<{ readonly key: ObjectKey; readonly watched: GroupWatched; readonly context: GroupContext }>;

/**
 * The claims that the group selects, with their volumes. Asked of the API server and not of the cache: a claim that was labelled a moment ago
 * must not be left out.
 */
export async function listClaims(
  { client, caches, signal }: GroupRun,
  group: VolumeGroupSnapshot,
): Promise<readonly Source[]> {
  const selector = group.spec?.source?.selector ?? {};
  try {
    const text = selectorText(selector);
    if (text.kind === 'error') throw new Error(text.message);
    const query = { namespace: group.metadata?.namespace, labelSelector: text.value };
    const { items } = await client.list(persistentVolumeClaims, query, { signal });
    return items.map((claim) => {
      const name = claim.spec?.volumeName;
      return { claim, volume: name === undefined ? undefined : caches.volumes.get(toObjectKey(undefined, name)) };
    });
  } catch (cause) {
    throw new Error(messages.listFailed(selectorLabel(selector), toError(cause).message), { cause });
  }
}

export async function saveMembers(
  { client, clock, random, caches, signal }: GroupRun,
  members: readonly Member[],
): Promise<void> {
  const deps = { client, clock, random, snapshots: caches.snapshots, contents: caches.contents };
  for (const member of members) await saveMember(deps, member, signal);
}

/** The members that a pending claim is to be filled from. */
export async function listRestores(
  { client, caches: { claims }, signal }: GroupRun,
  group: VolumeGroupSnapshot,
  owned: readonly VolumeSnapshot[],
): Promise<readonly ObjectKey[]> {
  await readRestores({ client, claims, signal }, group.metadata?.namespace);
  return membersBeingRestored({ claims }, owned);
}

export async function deleteMembers(
  { client, clock, random, caches, signal, context }: GroupRun,
  group: VolumeGroupSnapshot,
  members: readonly VolumeSnapshot[],
): Promise<void> {
  const writing = { client, clock, random, signal, resource: volumeSnapshots, cache: caches.snapshots };
  const mayGo = (member: VolumeSnapshot): boolean => groupOwnerOf(member)?.uid === group.metadata?.uid;
  for (const member of members) {
    await writes.deleteObject(writing, member, mayGo).catch((error: unknown) => {
      const message = messages.memberNotDeleted(keyOf(member), keyOf(group), toError(error).message);
      context.events.record(group, message);
      throw error;
    });
  }
}
