// SPDX-License-Identifier: Apache-2.0
/** What each step of the VolumeGroupSnapshot loop does. No decisions: those are in `flow.ts`. */
import {
  definedOnly,
  type ObjectKey,
  persistentVolumeClaims,
  type RecordedEvent,
  type Run,
  toError,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  isBoundTo,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { groupMark } from '../content-mark.ts';
import { groupOwnerOf } from '../membership.ts';
import type { OperationName } from '../operations.ts';
import { readRestores } from '../restores.ts';
import { type Problem, saveError as saveProblem } from '../save-error.ts';
import { selectorLabel, selectorText } from '../selector.ts';
import type { Source } from '../source-volume.ts';
import type { ContentFacts } from '../status.ts';
import * as writes from '../writes.ts';
import { groupKey, isStatic } from './group.ts';
import type { Member } from './members.ts';
import * as messages from './messages.ts';
import { membersBeingRestored, type GroupContext, type GroupWatched } from './observe.ts';
import { reportStatus } from './report-status.ts';
import { saveMember } from './save-member.ts';

export type GroupRun = Run<{ readonly key: ObjectKey; readonly watched: GroupWatched }, GroupContext>;

/** How groups are written. */
function groups({ client, clock, random, caches, signal }: GroupRun): writes.Writing<VolumeGroupSnapshot> {
  return { client, clock, random, signal, resource: volumeGroupSnapshots, cache: caches.groups };
}

/** How contents of groups are written. */
function contents({ client, clock, random, caches, signal }: GroupRun): writes.Writing<VolumeGroupSnapshotContent> {
  return { client, clock, random, signal, resource: volumeGroupSnapshotContents, cache: caches.groupContents };
}

/** Memory only: the metrics count from here. */
export function begin(
  { context }: GroupRun,
  group: VolumeGroupSnapshot,
  { operations, driver }: { readonly operations: readonly OperationName[]; readonly driver: string },
): void {
  const type = isStatic(group) ? 'pre-provisioned' : 'dynamic';
  for (const name of operations) context.operations.start(name, group.metadata?.uid ?? '', { driver, type });
}

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

/** The finalizer and the default class in one write. */
export function prepare(
  run: GroupRun,
  group: VolumeGroupSnapshot,
  className: string | undefined,
): Promise<VolumeGroupSnapshot> {
  const wanted = {
    finalizers: [snapshotFinalizers.groupBound],
    spec: { volumeGroupSnapshotClassName: className },
  };
  return writes.prepareObject(groups(run), group, wanted);
}

/** Read again from the API server. Undefined: it is gone. */
export function confirm(run: GroupRun, group: VolumeGroupSnapshot): Promise<VolumeGroupSnapshot | undefined> {
  return writes.readAgain(groups(run), group);
}

/** The content as it is stored, which may be that of another group. `warning`: what may keep a csi-snapshotter from serving it. */
export async function createContent(
  run: GroupRun,
  group: VolumeGroupSnapshot,
  { content, warning }: { readonly content: VolumeGroupSnapshotContent; readonly warning?: RecordedEvent | undefined },
): Promise<VolumeGroupSnapshotContent> {
  const { events } = run.context;
  const key = groupKey(group);
  const stored = await writes.createContent(contents(run), content).catch((error: unknown) => {
    events.record(group, messages.contentNotCreated(key, toError(error).message));
    throw error;
  });
  if (isBoundTo(stored.spec?.volumeGroupSnapshotRef, group)) {
    events.record(group, messages.creating(key));
    if (warning !== undefined) events.record(group, warning);
  }
  return stored;
}

export function bind(
  run: GroupRun,
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
): Promise<VolumeGroupSnapshotContent> {
  return writes.bindContent(contents(run), content, {
    owner: group,
    referenceOf: ({ spec }) => spec?.volumeGroupSnapshotRef,
    finalizer: snapshotFinalizers.groupContent,
    spec: {
      volumeGroupSnapshotRef: { uid: group.metadata?.uid },
      ...definedOnly({ volumeGroupSnapshotClassName: group.spec?.volumeGroupSnapshotClassName }),
    },
  });
}

export async function saveMembers(
  { client, clock, random, caches, signal }: GroupRun,
  members: readonly Member[],
): Promise<void> {
  const deps = { client, clock, random, snapshots: caches.snapshots, contents: caches.contents };
  for (const member of members) await saveMember(deps, member, signal);
}

export const boundField = 'boundVolumeGroupSnapshotContentName';

export async function saveStatus(
  run: GroupRun,
  group: VolumeGroupSnapshot,
  { content, facts }: { readonly content: VolumeGroupSnapshotContent; readonly facts: ContentFacts },
): Promise<void> {
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  reportStatus(run.context, await writes.saveStatusOf(groups(run), group, { facts, bound }), content);
}

export function saveError(
  { caches, context: { events }, signal, ...ports }: GroupRun,
  object: VolumeGroupSnapshot,
  problem: Problem,
): Promise<void> {
  const deps = { ...ports, events, cache: caches.groups };
  return saveProblem(deps, { resource: volumeGroupSnapshots, object, problem }, signal);
}

/** Read from the API server, because the cache may be behind. */
export function askContent(run: GroupRun, name: string): Promise<VolumeGroupSnapshotContent | undefined> {
  return writes.readObject(contents(run), { name });
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

export function markContent(
  run: GroupRun,
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
): Promise<VolumeGroupSnapshotContent> {
  const isIts = (known: VolumeGroupSnapshotContent): boolean => isContentOf(group, known);
  return writes.markContent(contents(run), content, { mark: groupMark, isIts });
}

/** Undefined: it is gone. */
export function deleteContent(
  run: GroupRun,
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
): Promise<VolumeGroupSnapshotContent | undefined> {
  const mayGo = (known: VolumeGroupSnapshotContent): boolean =>
    isContentOf(group, known) && known.spec?.deletionPolicy === 'Delete';
  return writes.deleteObject(contents(run), content, mayGo);
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
      const message = messages.memberNotDeleted(groupKey(member), groupKey(group), toError(error).message);
      context.events.record(group, message);
      throw error;
    });
  }
}

export function removeFinalizer(run: GroupRun, group: VolumeGroupSnapshot): Promise<void> {
  return writes.removeFinalizers(groups(run), group, [snapshotFinalizers.groupBound]);
}

/** A content that belongs to another group is not touched. */
export function isContentOf(group: VolumeGroupSnapshot, { spec }: VolumeGroupSnapshotContent): boolean {
  return isBoundTo(spec?.volumeGroupSnapshotRef, group);
}
