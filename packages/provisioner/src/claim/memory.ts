// SPDX-License-Identifier: Apache-2.0
/**
 * The memory of a claim from one run to the next. It is lost with the process; only the provisioning
 * finalizer on the claim survives.
 *
 * | record | meaning | begins when | ends when |
 * |---|---|---|---|
 * | pinned | a CreateVolume may still be running; it is repeated unchanged | before CreateVolume is sent | the answer is final, or the volume is created |
 * | open | a volume may exist; the next request is planned from the caches | a final answer that does not settle | an answer settles, or a new request is pinned |
 * | saving | the volume exists, its PersistentVolume is not saved | its first save failed | it is saved, or has to be built again |
 * | settled | no volume exists without a record | the outcome is final | the finalizer is removed, and the class may be tried again |
 */
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { type ClaimUid, uidOf } from './claim.ts';
import { type Answer, countedAnswers, type Deletion } from './deletion.ts';
import type { Unusable } from './outcome.ts';
import type { Plan } from './plan.ts';

/** One CreateVolume as it was sent. It is not called in flight: the call may have ended long ago, without an answer that settles. */
export interface PinnedRequest {
  readonly plan: Plan;
  /** With the secret values and attributes of the last call. */
  readonly request: CreateVolumeRequestInput;
  /** The answer has to name the content source of the volume. */
  readonly isConfirmed: boolean;
  /**
   * A deletion that may still be running. Until it has ended, CreateVolume must not be called again: its answer could be
   * the volume that is about to disappear.
   */
  readonly deleting?: Unusable;
}

/** The driver refused the claim with this class: the same request is not sent again before this time, unless the class changes. */
export interface Refusal {
  readonly untilMs: number;
  readonly classUid: string;
}

interface Remembered {
  /** The claim at the last attempt, for use when it has left the cache. */
  readonly claim: PersistentVolumeClaim;
}

interface Outstanding extends Remembered {
  /** Undefined if the deletion of the claim has not been seen. */
  readonly deletion: Deletion | undefined;
}

/** What the process remembers of a claim. */
export type ClaimRecord =
  | ({ readonly kind: 'pinned'; readonly pinned: PinnedRequest } & Outstanding)
  | ({ readonly kind: 'open' } & Outstanding)
  | ({ readonly kind: 'saving'; readonly pinned: PinnedRequest; readonly volume: PersistentVolume } & Outstanding)
  | ({ readonly kind: 'settled'; readonly refusal: Refusal | undefined } & Remembered);

export type Saving = Extract<ClaimRecord, { kind: 'saving' }>;

/** The PersistentVolume's name. */
export type UnsavedKey = string;

export interface ClaimMemory {
  get(uid: ClaimUid): ClaimRecord | undefined;
  set(entry: ClaimRecord): void;
  delete(uid: ClaimUid): void;
  /** The claim is gone at this time by the monotonic clock, unless its deletion was seen before. */
  gone(uid: ClaimUid, seenMs: number): void;
  /** The claim was given up, and its call is repeated. */
  givenUp(uid: ClaimUid): void;
  /** Claims that are being deleted or gone, and for which a volume may exist that is not recorded. */
  unsettledDeleted(): readonly PersistentVolumeClaim[];
  /** Counts one more answer since the deletion of the claim was seen. */
  answered(claim: PersistentVolumeClaim, deletion: Deletion, answer: Answer): void;
  /** The PersistentVolume of this name that waits to be saved. */
  savingByName(volumeName: string): Saving | undefined;
  /** The names of all PersistentVolumes that wait to be saved. */
  savingNames(): readonly string[];
}

/** `onUnsettled` is called with the number of claims in `unsettledDeleted` when it may have changed. */
export function createClaimMemory(onUnsettled: (claims: number) => void = () => undefined): ClaimMemory {
  const entries = new Map<ClaimUid, ClaimRecord>();
  const savingNames = new Map<string, ClaimUid>();
  const unsettled = new Map<ClaimUid, PersistentVolumeClaim>();
  const remove = (uid: ClaimUid): void => {
    const entry = entries.get(uid);
    if (entry?.kind === 'saving') savingNames.delete(entry.pinned.plan.volumeName);
    entries.delete(uid);
    if (unsettled.delete(uid)) onUnsettled(unsettled.size);
  };
  const set = (entry: ClaimRecord): void => {
    const uid = uidOf(entry.claim);
    remove(uid);
    entries.set(uid, entry);
    if (entry.kind === 'saving') savingNames.set(entry.pinned.plan.volumeName, uid);
    if (entry.kind === 'settled' || entry.deletion === undefined) return;
    unsettled.set(uid, entry.claim);
    onUnsettled(unsettled.size);
  };
  return {
    get: (uid) => entries.get(uid),
    set,
    delete: remove,
    gone: (uid, seenMs) => {
      const entry = entries.get(uid);
      if (entry === undefined || entry.kind === 'settled' || entry.deletion !== undefined) return;
      set({ ...entry, deletion: { seenMs, answers: [] } });
    },
    givenUp: (uid) => {
      const entry = entries.get(uid);
      if (entry === undefined || entry.kind === 'settled' || entry.deletion === undefined) return;
      set({ ...entry, deletion: { ...entry.deletion, isGivenUp: true } });
    },
    unsettledDeleted: () => [...unsettled.values()],
    answered: (claim, before, answer) => {
      const entry = entries.get(uidOf(claim));
      if (entry?.kind === 'settled') return;
      const deletion = { ...before, answers: [...before.answers, answer].slice(-countedAnswers) };
      set(entry === undefined ? { kind: 'open', claim, deletion } : { ...entry, deletion });
    },
    savingByName: (volumeName) => {
      const uid = savingNames.get(volumeName);
      const entry = uid === undefined ? undefined : entries.get(uid);
      return entry?.kind === 'saving' ? entry : undefined;
    },
    savingNames: () => [...savingNames.keys()],
  };
}
