// SPDX-License-Identifier: Apache-2.0
/** What each step of the VolumeSnapshot loop does. No decisions: those are in `flow.ts`. */
import {
  changeObject,
  definedOnly,
  isNotFound,
  keyOf,
  type ObjectKey,
  type PersistentVolumeClaim,
  type Run,
} from '@csi-sidecars/runtime';
import {
  isBoundTo,
  isDnsSubdomain,
  mayBindTo,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { singleMark } from '../content-mark.ts';
import type { OperationName } from '../operations.ts';
import { isBeingRestored, readRestores } from '../restores.ts';
import { type Problem, saveError as saveProblem } from '../save-error.ts';
import type { ContentFacts } from '../status.ts';
import * as writes from '../writes.ts';
import {
  type ClaimDeps,
  protectClaim as protect,
  readSnapshotsOf,
  releaseClaim as release,
} from './claim-finalizer.ts';
import * as messages from './messages.ts';
import {
  isClaimInUse,
  type LookedAtClaim,
  mayBeInUse,
  observeClaim,
  type SnapshotContext,
  type SnapshotWatched,
} from './observe.ts';
import { reportStatus } from './report-status.ts';
import { originOf, snapshotKey } from './snapshot.ts';

export type SnapshotRun = Run<{ readonly key: ObjectKey; readonly watched: SnapshotWatched }, SnapshotContext>;

/** How snapshots are written. */
function snapshots({ client, clock, random, caches, signal }: SnapshotRun): writes.Writing<VolumeSnapshot> {
  return { client, clock, random, signal, resource: volumeSnapshots, cache: caches.snapshots };
}

/** How contents are written. */
function contents({ client, clock, random, caches, signal }: SnapshotRun): writes.Writing<VolumeSnapshotContent> {
  return { client, clock, random, signal, resource: volumeSnapshotContents, cache: caches.contents };
}

/** How the finalizers of claims are written. */
function claims({ client, clock, random, caches, context }: SnapshotRun): ClaimDeps {
  const { claimTurns: turns, releases } = context;
  return { client, clock, random, claims: caches.claims, turns, releases };
}

/** Memory only: the metrics count from here. */
export function begin(
  { context }: SnapshotRun,
  snapshot: VolumeSnapshot,
  { operations, driver }: { readonly operations: readonly OperationName[]; readonly driver: string },
): void {
  const type = originOf(snapshot) === 'static' ? 'pre-provisioned' : 'dynamic';
  for (const name of operations) context.operations.start(name, snapshot.metadata?.uid ?? '', { driver, type });
}

/** The finalizers and the default class that a snapshot gets in one write. */
export interface Preparation {
  readonly finalizers: readonly string[];
  readonly className: string | undefined;
}

export function prepare(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  { finalizers, className }: Preparation,
): Promise<VolumeSnapshot> {
  return writes.prepareObject(snapshots(run), snapshot, { finalizers, spec: { volumeSnapshotClassName: className } });
}

/** Read again from the API server. Undefined: it is gone. */
export function confirm(run: SnapshotRun, snapshot: VolumeSnapshot): Promise<VolumeSnapshot | undefined> {
  return writes.readAgain(snapshots(run), snapshot);
}

/** While a run waits for an answer, others take our finalizer off the claim, or begin to need it. */
export function lookAtClaim({ context, caches }: SnapshotRun, snapshot: VolumeSnapshot): LookedAtClaim {
  return observeClaim(context, caches, snapshot);
}

export async function protectClaim(run: SnapshotRun, claim: PersistentVolumeClaim): Promise<void> {
  await protect(claims(run), claim, run.signal);
}

/** The content as it is stored, which may be that of another snapshot. */
export async function createContent(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  { content, isOfNoNode }: { readonly content: VolumeSnapshotContent; readonly isOfNoNode: boolean },
): Promise<VolumeSnapshotContent> {
  const { events, settings } = run.context;
  const key = snapshotKey(snapshot);
  const stored = await writes.createContent(contents(run), content).catch((error: unknown) => {
    events.record(snapshot, messages.contentNotCreated(key, (error as Error).message));
    throw error;
  });
  if (isBoundTo(stored.spec?.volumeSnapshotRef, snapshot)) {
    events.record(snapshot, messages.creating(key));
    if (settings.distributed && isOfNoNode) events.record(snapshot, messages.noNode(content.metadata?.name ?? ''));
  }
  return stored;
}

export function bind(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): Promise<VolumeSnapshotContent> {
  return writes.bindContent(contents(run), content, {
    owner: snapshot,
    referenceOf: ({ spec }) => spec?.volumeSnapshotRef,
    finalizer: snapshotFinalizers.content,
    spec: {
      volumeSnapshotRef: { uid: snapshot.metadata?.uid },
      ...definedOnly({ volumeSnapshotClassName: snapshot.spec?.volumeSnapshotClassName }),
    },
  });
}

export const boundField = 'boundVolumeSnapshotContentName';

export async function saveStatus(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  { content, facts }: { readonly content: VolumeSnapshotContent; readonly facts: ContentFacts },
): Promise<void> {
  const bound = { field: boundField, name: content.metadata?.name ?? '' };
  const stored = await writes.saveStatusOf(snapshots(run), snapshot, { facts, bound });
  reportStatus(run.context, stored, content);
}

export function saveError(
  { caches, context: { events }, signal, ...ports }: SnapshotRun,
  object: VolumeSnapshot,
  problem: Problem,
): Promise<void> {
  const deps = { ...ports, events, cache: caches.snapshots };
  return saveProblem(deps, { resource: volumeSnapshots, object, problem }, signal);
}

/** Memory only: the snapshot does not keep its claim from now on. */
export function leaveClaim({ caches, context: { releases } }: SnapshotRun, snapshot: VolumeSnapshot): void {
  const { uid = '' } = snapshot.metadata ?? {};
  // What is gone already would not be forgotten any more.
  if (caches.snapshots.get(snapshotKey(snapshot))?.metadata?.uid === uid) releases.leave(uid);
}

export async function releaseClaim(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  claim: PersistentVolumeClaim,
): Promise<void> {
  const { caches, signal, context } = run;
  const { releases } = context;
  const key = keyOf(claim);
  const isInUse = (): boolean => isClaimInUse({ releases, snapshots: caches.snapshots }, key, snapshot);
  await releases.during(key, async () => {
    const isCacheCurrent = releases.hasGiven(claim.metadata?.uid ?? '');
    if (!isCacheCurrent || mayBeInUse(caches.snapshots, key, snapshot)) await readSnapshotsOf(claim, run);
    await release(claims(run), { claim, isInUse }, signal);
  });
}

/** Gives the snapshot its owner. The garbage collector deletes a snapshot whose only owner is gone. */
export async function adopt(run: SnapshotRun, snapshot: VolumeSnapshot, group: VolumeGroupSnapshot): Promise<void> {
  const reading = { ...snapshots(run), resource: volumeGroupSnapshots, cache: run.caches.groups };
  if ((await writes.readAgain(reading, group)) === undefined) throw new Error(`group ${snapshotKey(group)} is gone`);
  const owner = {
    apiVersion: `${volumeGroupSnapshots.group}/${volumeGroupSnapshots.version}`,
    kind: volumeGroupSnapshots.kind,
    name: group.metadata?.name ?? '',
    uid: group.metadata?.uid ?? '',
  };
  const { resource, signal, ...deps } = snapshots(run);
  const patch = ({ metadata }: VolumeSnapshot) => {
    const owners = metadata?.ownerReferences ?? [];
    const isOwned = owners.some(({ uid }) => uid === owner.uid);
    return isOwned ? undefined : { metadata: { ownerReferences: [...owners, owner] } };
  };
  await changeObject(deps, { resource, object: snapshot, patch }, { signal });
}

/** Read from the API server, because the cache may be behind. */
export function askContent(run: SnapshotRun, name: string): Promise<VolumeSnapshotContent | undefined> {
  return writes.readObject(contents(run), { name });
}

/** Whether a pending claim is to be filled from the snapshot. */
export async function listRestores(
  { client, caches, signal }: SnapshotRun,
  snapshot: VolumeSnapshot,
): Promise<boolean> {
  await readRestores({ client, claims: caches.claims, signal }, snapshot.metadata?.namespace);
  return isBeingRestored(caches.claims, snapshotKey(snapshot));
}

/** Whether there is a group of this name. A cluster without the kind answers the same as one without the group. */
export async function askGroup(
  { client, signal }: SnapshotRun,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<boolean> {
  if (!isDnsSubdomain(name)) return false;
  try {
    await client.get(volumeGroupSnapshots, { namespace, name }, { signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

export function markContent(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): Promise<VolumeSnapshotContent> {
  const isIts = (known: VolumeSnapshotContent): boolean => isContentOf(snapshot, known);
  return writes.markContent(contents(run), content, { mark: singleMark, isIts });
}

/** Undefined: it is gone. */
export function deleteContent(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): Promise<VolumeSnapshotContent | undefined> {
  const mayGo = (known: VolumeSnapshotContent): boolean =>
    isContentOf(snapshot, known) && known.spec?.deletionPolicy === 'Delete';
  return writes.deleteObject(contents(run), content, mayGo);
}

export function removeFinalizers(
  run: SnapshotRun,
  snapshot: VolumeSnapshot,
  finalizers: readonly string[],
): Promise<void> {
  return writes.removeFinalizers(snapshots(run), snapshot, finalizers);
}

/** A content that belongs to another snapshot is not touched. */
export function isContentOf(snapshot: VolumeSnapshot, { spec }: VolumeSnapshotContent): boolean {
  const reference = spec?.volumeSnapshotRef;
  // An older release made contents of members before their snapshots, and may have ended in between.
  return isBoundTo(reference, snapshot) || (originOf(snapshot) === 'member' && mayBindTo(reference, snapshot));
}
