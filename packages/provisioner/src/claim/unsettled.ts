// SPDX-License-Identifier: Apache-2.0
/**
 * The claims for which a volume may exist that no PersistentVolume records. This memory serves the replay; what survives
 * the process is the finalizer on the claim.
 *
 * | entry | made when | left when |
 * |---|---|---|
 * | pinned | before CreateVolume is sent | the answer is final, or the volume is made |
 * | saving | the first save of the PersistentVolume failed | it is saved, or has to be made again |
 * | settled | the outcome is final | the finalizer is off the claim, or the claim is gone |
 */
import type { CreateVolumeRequestInput } from '@csi-sidecars/csi';
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { type ClaimUid, uidOf } from './claim.ts';
import type { TooSmall } from './outcome.ts';
import type { Plan } from './plan.ts';

/** One CreateVolume as it was sent, repeated as it is until the answer is final. */
export interface Pinned {
  readonly claim: PersistentVolumeClaim;
  readonly plan: Plan;
  /** With the secret values and attributes of the last call. */
  readonly request: CreateVolumeRequestInput;
  /**
   * A deletion that may still be going on. Until it is over the volume must not be asked for again: the answer could be
   * the very volume that is about to vanish.
   */
  readonly deleting?: TooSmall;
}

export type Entry =
  | ({ readonly kind: 'pinned' } & Pinned)
  | ({ readonly kind: 'saving'; readonly volume: PersistentVolume } & Pinned)
  | { readonly kind: 'settled'; readonly claim: PersistentVolumeClaim };

export interface UnsettledClaims {
  get(uid: ClaimUid): Entry | undefined;
  /** What waits to be saved under this PersistentVolume name. */
  savingByName(volumeName: string): Extract<Entry, { kind: 'saving' }> | undefined;
  set(entry: Entry): void;
  delete(uid: ClaimUid): void;
  /** The names of all PersistentVolumes that wait to be saved. */
  savingNames(): readonly string[];
}

export function createUnsettledClaims(): UnsettledClaims {
  const entries = new Map<ClaimUid, Entry>();
  const savingNames = new Map<string, ClaimUid>();
  const remove = (uid: ClaimUid): void => {
    const entry = entries.get(uid);
    if (entry?.kind === 'saving') savingNames.delete(entry.plan.volumeName);
    entries.delete(uid);
  };
  return {
    get: (uid) => entries.get(uid),
    savingByName: (volumeName) => {
      const uid = savingNames.get(volumeName);
      const entry = uid === undefined ? undefined : entries.get(uid);
      return entry?.kind === 'saving' ? entry : undefined;
    },
    set: (entry) => {
      const uid = uidOf(entry.claim);
      remove(uid);
      entries.set(uid, entry);
      if (entry.kind === 'saving') savingNames.set(entry.plan.volumeName, uid);
    },
    delete: remove,
    savingNames: () => [...savingNames.keys()],
  };
}
