// SPDX-License-Identifier: Apache-2.0
/** What the steps do that only the VolumeSnapshot loop has. No decisions: those are in `flow.ts`. */
import {
  changeObject,
  isNotFound,
  isOwnedBy,
  keyOf,
  type ObjectKey,
  ownerReference,
  type PersistentVolumeClaim,
  type Run,
} from '@csi-sidecars/runtime';
import {
  isDnsSubdomain,
  type VolumeGroupSnapshot,
  volumeGroupSnapshots,
  type VolumeSnapshot,
} from '@csi-sidecars/volume';
import { snapshotsOf } from '../binding/steps.ts';
import { isBeingRestored, readRestores } from '../restores.ts';
import * as writes from '../writes.ts';
import {
  type ClaimDeps,
  protectClaim as protect,
  readSnapshotsOf,
  releaseClaim as release,
} from './claim-finalizer.ts';
import {
  isClaimInUse,
  type LookedAtClaim,
  mayBeInUse,
  observeClaim,
  type SnapshotContext,
  type SnapshotWatched,
} from './observe.ts';

export type SnapshotRun = Run<{
  readonly key: ObjectKey;
  readonly watched: SnapshotWatched;
  readonly context: SnapshotContext;
}>;

/** How the finalizers of claims are written. */
function claims({ client, clock, random, caches, context }: SnapshotRun): ClaimDeps {
  const { claimLock: lock, releases } = context;
  return { client, clock, random, claims: caches.claims, lock, releases };
}

/** While a run waits for an answer, others take our finalizer off the claim, or begin to need it. */
export function lookAtClaim({ context, caches }: SnapshotRun, snapshot: VolumeSnapshot): LookedAtClaim {
  return observeClaim(context, caches, snapshot);
}

export async function protectClaim(run: SnapshotRun, claim: PersistentVolumeClaim): Promise<void> {
  await protect(claims(run), claim, run.signal);
}

/** Fast drivers have answered by then, and a person who looks for the name of the content does not notice the wait. */
const answerWithinMs = 200;

/** Memory only: the content was made, or was there when it should be made. */
export function noteMade(run: SnapshotRun, snapshot: VolumeSnapshot): void {
  const { answersDueMs } = run.context;
  const nowMs = run.clock.monotonicMs();
  // So that none is kept for as long as its snapshot.
  for (const [uid, dueMs] of answersDueMs) if (dueMs <= nowMs) answersDueMs.delete(uid);
  if (isThere(run, snapshot)) answersDueMs.set(snapshot.metadata?.uid ?? '', nowMs + answerWithinMs);
}

/** How long the first status may still wait for what the driver answers, in milliseconds. */
export function answerWaitMs({ clock, context }: SnapshotRun, { metadata }: VolumeSnapshot): number {
  const dueMs = context.answersDueMs.get(metadata?.uid ?? '') ?? 0;
  return Math.max(0, Math.ceil(dueMs - clock.monotonicMs()));
}

/** Memory only: the snapshot does not keep its claim from now on. */
export function leaveClaim(run: SnapshotRun, snapshot: VolumeSnapshot): void {
  if (isThere(run, snapshot)) run.context.releases.leave(snapshot.metadata?.uid ?? '');
}

/** Memory only: this process has seen the content on its way, and need not ask for it when it is gone. */
export function noteWaiting(run: SnapshotRun, snapshot: VolumeSnapshot): void {
  if (isThere(run, snapshot)) run.context.waiting.add(snapshot.metadata?.uid ?? '');
}

/** A note about what is gone already would not be forgotten any more. */
function isThere({ caches }: SnapshotRun, snapshot: VolumeSnapshot): boolean {
  return caches.snapshots.get(keyOf(snapshot))?.metadata?.uid === snapshot.metadata?.uid;
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
  const reading = { ...snapshotsOf(run), resource: volumeGroupSnapshots, cache: run.caches.groups };
  if ((await writes.readAgain(reading, group)) === undefined) throw new Error(`group ${keyOf(group)} is gone`);
  const { resource, signal, ...deps } = snapshotsOf(run);
  const owner = ownerReference(volumeGroupSnapshots, group);
  const patch = (object: VolumeSnapshot) => {
    if (isOwnedBy(object, group)) return undefined;
    return { metadata: { ownerReferences: [...(object.metadata?.ownerReferences ?? []), owner] } };
  };
  await changeObject(deps, { resource, object: snapshot, patch }, { signal });
}

/** Whether a pending claim is to be filled from the snapshot. */
export async function listRestores(
  { client, caches, signal }: SnapshotRun,
  snapshot: VolumeSnapshot,
): Promise<boolean> {
  await readRestores({ client, claims: caches.claims, signal }, snapshot.metadata?.namespace);
  return isBeingRestored(caches.claims, keyOf(snapshot));
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
