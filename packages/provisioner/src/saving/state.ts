// SPDX-License-Identifier: Apache-2.0
/**
 * The save loop: PersistentVolumes of volumes that exist and whose first save failed. Tried until the API server gives a
 * final answer; a volume is never deleted because it could not be recorded. A PersistentVolume that cannot be saved as it is goes back to the
 * claim loop, which calls the driver again. Rows S1 to S10 of the provisioner's page.
 *
 * Not here: the first save (the claim loop does it, with the same rows).
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
  /** The claim from the cache, else from the last attempt. */
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
   * The entry for the claim loop: still `saving`, `settled` (it removes the finalizer), or `again`: the volume exists, and
   * its record has to be built again.
   */
  readonly claimIs: 'saving' | 'settled' | 'again';
}

export type Conclusion = { readonly row: SaveRow } & Ending;
