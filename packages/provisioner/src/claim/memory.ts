// SPDX-License-Identifier: Apache-2.0
/**
 * What the process remembers of a claim from one run to the next, in one place. It is lost with the process; the provisioning
 * finalizer on the claim is what survives.
 *
 * | entry | it says | made when | left when |
 * |---|---|---|---|
 * | pinned | a CreateVolume may be going on; it is repeated as it was sent | before CreateVolume is sent | the answer is final, or the volume is made |
 * | open | a volume may exist; the next request is planned from the caches | a final answer that does not settle | an answer settles, or a new request is pinned |
 * | saving | the volume exists, its PersistentVolume is not saved | its first save failed | it is saved, or has to be made again |
 * | settled | no volume exists without a record | the outcome is final | the finalizer is off, and the class may be tried again |
 */
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { type ClaimUid, uidOf } from './claim.ts';
import { type Answer, countedAnswers, type Deletion } from './deletion.ts';
import type { TooSmall } from './outcome.ts';
import type { Plan } from './plan.ts';

/** One CreateVolume as it was sent. */
export interface Pinned {
  readonly plan: Plan;
  /** With the secret values and attributes of the last call. */
  readonly request: CreateVolumeRequestInput;
  /**
   * A deletion that may still be going on. Until it is over the volume must not be asked for again: the answer could be
   * the very volume that is about to vanish.
   */
  readonly deleting?: TooSmall;
}

/** The class called the claim impossible: the same request is not sent again before this time, unless the class changes. */
export interface Refusal {
  readonly untilMs: number;
  readonly classUid: string;
}

interface Remembered {
  /** As it was at the last attempt: for when the cache has it no longer. */
  readonly claim: PersistentVolumeClaim;
}

interface Outstanding extends Remembered {
  /** Undefined: the deletion of the claim has not been seen. */
  readonly deletion: Deletion | undefined;
}

export type Entry =
  | ({ readonly kind: 'pinned'; readonly pinned: Pinned } & Outstanding)
  | ({ readonly kind: 'open' } & Outstanding)
  | ({ readonly kind: 'saving'; readonly pinned: Pinned; readonly volume: PersistentVolume } & Outstanding)
  | ({ readonly kind: 'settled'; readonly refusal: Refusal | undefined } & Remembered);

export type Saving = Extract<Entry, { kind: 'saving' }>;

export interface ClaimMemory {
  get(uid: ClaimUid): Entry | undefined;
  set(entry: Entry): void;
  delete(uid: ClaimUid): void;
  /** Counts one more answer since the deletion of the claim was seen. */
  answered(claim: PersistentVolumeClaim, deletion: Deletion, answer: Answer): void;
  /** What waits to be saved under this PersistentVolume name. */
  savingByName(volumeName: string): Saving | undefined;
  /** The names of all PersistentVolumes that wait to be saved. */
  savingNames(): readonly string[];
}

export function createClaimMemory(): ClaimMemory {
  const entries = new Map<ClaimUid, Entry>();
  const savingNames = new Map<string, ClaimUid>();
  const remove = (uid: ClaimUid): void => {
    const entry = entries.get(uid);
    if (entry?.kind === 'saving') savingNames.delete(entry.pinned.plan.volumeName);
    entries.delete(uid);
  };
  const set = (entry: Entry): void => {
    const uid = uidOf(entry.claim);
    remove(uid);
    entries.set(uid, entry);
    if (entry.kind === 'saving') savingNames.set(entry.pinned.plan.volumeName, uid);
  };
  return {
    get: (uid) => entries.get(uid),
    set,
    delete: remove,
    answered: (claim, { seenMs, answers }, answer) => {
      const entry = entries.get(uidOf(claim));
      if (entry?.kind === 'settled') return;
      const deletion = { seenMs, answers: [...answers, answer].slice(-countedAnswers) };
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
