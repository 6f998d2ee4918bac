// SPDX-License-Identifier: Apache-2.0
/**
 * The save loop: PersistentVolumes of volumes that exist and whose first save failed. Tried until the API server gives a
 * verdict; the volume is never deleted because it could not be recorded. What cannot be saved as it is goes back to the
 * claim loop, which asks the driver again. Rows S1 to S9 of the provisioner's page.
 *
 * Not here: the first save (the claim loop does it and judges it by the same rows).
 */
import type { LoopTypes, Outcome, PersistentVolume, PersistentVolumeClaim, RecordedEvent } from '@csi-sidecars/runtime';
import type { Saving } from '../claim/memory.ts';
import type { SaveOutcome, SaveRow } from './outcome.ts';

/** The PersistentVolume's name. */
export type UnsavedKey = string;

export interface SaveLoop extends LoopTypes {
  readonly key: UnsavedKey;
  readonly watched: { readonly claims: PersistentVolumeClaim; readonly volumes: PersistentVolume };
  readonly state: SaveState;
  readonly action: Action;
}

export interface SaveState {
  readonly saving: Saving;
  /** As the cache has it, else as it was at the last attempt. */
  readonly claim: PersistentVolumeClaim;
  readonly isProtected: boolean;
  readonly saved: SaveOutcome | undefined;
}

export type Action = { readonly row: SaveRow } & ({ readonly kind: 'save' } | Ending);

export interface Ending {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
  readonly events: readonly RecordedEvent[];
  /**
   * What the claim loop finds: still `saving`, `settled` (it takes the finalizer off), or `again`: the volume is there, and
   * its record has to be made again.
   */
  readonly claimIs: 'saving' | 'settled' | 'again';
}

export type Conclusion = { readonly row: SaveRow } & Ending;
