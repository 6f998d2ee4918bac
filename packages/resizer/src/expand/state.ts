// SPDX-License-Identifier: Apache-2.0
/**
 * The expansion loop: from a claim that asks for more storage than it has to ControllerExpandVolume, a larger PersistentVolume, and
 * a claim that has its size or waits for its node. Rows E1 to E26 of the resizer's page, sizes S1 to S11, and L1 to L6 for the path
 * of upstream before v2.3.0.
 *
 * Intent is persisted before the call (`allocatedResources`), the result after it, first on the PersistentVolume, then on the
 * claim. Every step can be repeated.
 *
 * Not here: attributes of volumes (`modify/`), the expansion of file systems (kubelet).
 */
import type { ControllerExpandVolumeRequestInput, CsiChannel } from '@csi-sidecars/csi';
import type {
  Answer,
  Attempt,
  Conclusion as RuntimeConclusion,
  EventRecorder,
  LoopTypes,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RecordedEvent,
} from '@csi-sidecars/runtime';
import type { Quantity, SecretReference } from '@csi-sidecars/volume';
import type { Claim, ClaimKey } from '../claim.ts';
import type { ResizerDriver } from '../driver.ts';
import type { OpenCalls } from '../open-calls.ts';
import type { OwnWrites } from '../own-writes.ts';
import type { Secrets } from '../secret.ts';
import type { ResizerSettings } from '../settings.ts';
import type { VolumeTurns } from '../volume-turns.ts';
import type { ExpandEntry, ExpandMemory } from './memory.ts';

export interface ExpandLoop extends LoopTypes {
  readonly key: ClaimKey;
  readonly watched: {
    readonly claims: PersistentVolumeClaim;
    readonly volumes: PersistentVolume;
    /** With the index `claim`. Not watched without `--handle-volume-inuse-error`. */
    readonly pods: Pod;
  };
  readonly state: ExpandState;
  readonly action: Action;
}

/** The same for every claim of the process. */
export interface ExpandContext {
  readonly driver: ResizerDriver;
  readonly channel: CsiChannel;
  readonly settings: ResizerSettings;
  readonly events: EventRecorder;
  readonly memory: ExpandMemory;
  readonly turns: VolumeTurns;
  readonly ownWrites: OwnWrites;
  readonly openCalls: OpenCalls;
}

export interface ExpandState extends Observed, Learned {}

export interface Observed {
  /** Its newest known state, own writes included. Undefined: it is gone, or has no volume. */
  readonly claim: Claim | undefined;
  /** Undefined: another driver's, or not arrived yet. */
  readonly volume: PersistentVolume | undefined;
  /** How the last call for this claim ended, as far as this process knows. */
  readonly entry: ExpandEntry | undefined;
  /** How long an infeasible size is not requested again; 0: it may be requested. */
  readonly infeasibleForMs: number;
  /** A pod that has not finished uses the claim. */
  readonly isUsed: boolean;
}

export interface Learned {
  readonly annotationRemoved: Attempt;
  readonly turn: 'unasked' | 'taken' | 'busy';
  /** The size that this run asks for, once the claim says so. */
  readonly target: Quantity | undefined;
  /** The claim says which size is asked for. */
  readonly marked: Attempt | 'conflict';
  readonly isAnnounced: boolean;
  readonly secrets: Answer<Secrets>;
  readonly expanded: Answer<Expansion>;
  readonly volumeSaved: Attempt;
  /** `overtaken`: kubelet or another process has ended the attempt, or begun another one. */
  readonly resultSaved: Attempt | 'overtaken';
  readonly failureSaved: Attempt;
}

export interface Expansion {
  readonly size: Quantity;
  /** The node has to expand the file system, or at least to notice the new size. */
  readonly needsNode: boolean;
}

export const nothingLearned: Learned = {
  annotationRemoved: 'untried',
  turn: 'unasked',
  target: undefined,
  marked: 'untried',
  isAnnounced: false,
  secrets: 'unasked',
  expanded: 'unasked',
  volumeSaved: 'untried',
  resultSaved: 'untried',
  failureSaved: 'untried',
};

export type Action = { readonly row: string } & (
  | { readonly kind: 'removeAnnotation'; readonly volume: PersistentVolume }
  /** Memory only: the modification of this volume waits meanwhile. */
  | { readonly kind: 'takeTurn'; readonly volumeHandle: string }
  | { readonly kind: 'mark'; readonly claim: Claim; readonly target: Quantity; readonly status: Marking }
  | { readonly kind: 'announce'; readonly claim: Claim; readonly volume: PersistentVolume; readonly target: Quantity }
  | { readonly kind: 'readSecret'; readonly reference: SecretReference }
  | {
      readonly kind: 'expand';
      readonly claim: Claim;
      readonly request: ControllerExpandVolumeRequestInput;
      readonly migrated: boolean;
    }
  /** Only the node expands: there is no call, and the new size is the target. */
  | { readonly kind: 'skipCall'; readonly target: Quantity }
  | {
      readonly kind: 'saveVolume';
      readonly volume: PersistentVolume;
      readonly size: Quantity;
      readonly before?: string;
    }
  | { readonly kind: 'saveResult'; readonly claim: Claim; readonly result: SavedResult }
  | { readonly kind: 'saveFailure'; readonly claim: Claim; readonly failure: Error; readonly isInfeasible: boolean }
  | Conclusion
);

/** `new`: an expansion to another size begins. `same`: one is repeated. `legacy`: without a recorded size. */
export type Marking = 'new' | 'same' | 'legacy';

export interface SavedResult {
  readonly needsNode: boolean;
  readonly size: Quantity;
  readonly path: 'recovery' | 'legacy';
}

export interface Conclusion extends RuntimeConclusion {
  readonly events: readonly RecordedEvent[];
}
