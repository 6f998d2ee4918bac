// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of claims that are left: with our finalizer, and without a snapshot whose loop would release them. Rows R1 to R3 of the page.
 *
 * Not here: claims with snapshots, which `snapshot/` protects and releases.
 */
import type { Attempt, LoopTypes, ObjectKey, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';
import type { Conclusion } from '../conclusions.ts';
import type { SnapshotContext } from '../snapshot/state.ts';

export interface ClaimLoop extends LoopTypes {
  readonly key: ObjectKey;
  /** With the index `claim` of `watched.ts`. */
  readonly watched: { readonly claims: PersistentVolumeClaim; readonly snapshots: VolumeSnapshot };
  readonly state: ClaimState;
  readonly action: Action;
}

/** Shared with the loop of snapshots: a snapshot that comes during a release waits for its end. */
export type ClaimContext = Pick<SnapshotContext, 'settings' | 'releases' | 'claimTurns'>;

export interface ClaimState {
  /** Undefined: it is gone. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** A snapshot of it went in this process. */
  readonly isLeft: boolean;
  readonly hasSnapshot: boolean;
  readonly released: Attempt;
}

export type Action =
  | { readonly row: string; readonly kind: 'release'; readonly claim: PersistentVolumeClaim }
  | Conclusion;
