// SPDX-License-Identifier: Apache-2.0
/**
 * One member of a dynamic group brought to what it has to be: its snapshot, its content, their binding, and both statuses. Every step
 * writes only what is missing, so that it can be repeated after any of them.
 */
import { type ApiClient, changeObject, type Clock, type Random, type WrittenCache } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  snapshotFinalizers,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { createOrGet } from '../create-or-get.ts';
import { groupOwnerOf } from '../membership.ts';
import { bindContent, readAgain } from '../writes.ts';
import { type Member, memberContent, memberSnapshot, missingContentStatus } from './members.ts';

export interface MemberDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly snapshots: WrittenCache<VolumeSnapshot>;
  readonly contents: WrittenCache<VolumeSnapshotContent>;
}

/** Rejects with the first failure. */
export async function saveMember(deps: MemberDeps, member: Member, signal: AbortSignal): Promise<void> {
  const snapshot = await savedSnapshot(deps, member, signal);
  const content = await savedContent(deps, { member, snapshot }, signal);
  const bound = await boundContent(deps, { content, snapshot }, signal);
  const ports = { ...deps, cache: deps.snapshots };
  const name = content.metadata?.name ?? '';
  await changeObject(
    ports,
    {
      resource: volumeSnapshots,
      object: snapshot,
      subresource: 'status',
      patch: ({ status }) =>
        status?.boundVolumeSnapshotContentName === undefined
          ? { status: { boundVolumeSnapshotContentName: name } }
          : undefined,
    },
    { signal },
  );
  await changeObject(
    { ...deps, cache: deps.contents },
    {
      resource: volumeSnapshotContents,
      object: bound,
      subresource: 'status',
      patch: (known) => {
        const status = missingContentStatus(member, known);
        return status && { status };
      },
    },
    { signal },
  );
}

async function savedSnapshot(deps: MemberDeps, member: Member, signal: AbortSignal): Promise<VolumeSnapshot> {
  const object = memberSnapshot(member);
  const ports = { client: deps.client, cache: deps.snapshots };
  const snapshot = member.snapshot ?? (await createOrGet(ports, { resource: volumeSnapshots, object }, signal));
  const { namespace, name, uid = '' } = snapshot.metadata ?? {};
  if (uid === '') throw new Error(`snapshot ${namespace}/${name} has no UID`);
  if (groupOwnerOf(snapshot)?.uid !== member.group.metadata?.uid) {
    throw new Error(`snapshot ${namespace}/${name} does not belong to the group`);
  }
  return snapshot;
}

async function savedContent(
  deps: MemberDeps,
  { member, snapshot }: { readonly member: Member; readonly snapshot: VolumeSnapshot },
  signal: AbortSignal,
): Promise<VolumeSnapshotContent> {
  const object = memberContent(member, snapshot);
  const ports = { client: deps.client, cache: deps.contents };
  return member.content ?? (await createOrGet(ports, { resource: volumeSnapshotContents, object }, signal));
}

/**
 * Upstream makes the content before the snapshot, without its UID. A UID other than that of the snapshot is that of an earlier one, which is
 * gone if the API server confirms that this one has the name.
 */
async function boundContent(
  deps: MemberDeps,
  { content, snapshot }: { readonly content: VolumeSnapshotContent; readonly snapshot: VolumeSnapshot },
  signal: AbortSignal,
): Promise<VolumeSnapshotContent> {
  if (isBoundTo(content.spec?.volumeSnapshotRef, snapshot)) return content;
  const writing = { ...deps, resource: volumeSnapshotContents, cache: deps.contents, signal };
  const earlierUid = content.spec?.volumeSnapshotRef?.uid ?? '';
  const isEarlierGone = earlierUid !== '' && (await isStored(deps, snapshot, signal));
  const bound = await bindContent(writing, content, {
    owner: snapshot,
    referenceOf: ({ spec: { volumeSnapshotRef } = {} }) => {
      if (!isEarlierGone || volumeSnapshotRef?.uid !== earlierUid) return volumeSnapshotRef;
      const { uid: _, ...reference } = volumeSnapshotRef;
      return reference;
    },
    finalizer: snapshotFinalizers.content,
    spec: { volumeSnapshotRef: { uid: snapshot.metadata?.uid } },
  });
  if (isBoundTo(bound.spec?.volumeSnapshotRef, snapshot)) return bound;
  throw new Error(`content ${content.metadata?.name} is bound to a different snapshot`);
}

async function isStored(deps: MemberDeps, snapshot: VolumeSnapshot, signal: AbortSignal): Promise<boolean> {
  const writing = { ...deps, resource: volumeSnapshots, cache: deps.snapshots, signal };
  return (await readAgain(writing, snapshot)) !== undefined;
}
