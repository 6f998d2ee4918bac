// SPDX-License-Identifier: Apache-2.0
/**
 * The modification loop: from a claim that names another VolumeAttributesClass than its volume has to ControllerModifyVolume, and the
 * class on PersistentVolume and claim. Rows M1 to M22 of the resizer's page.
 *
 * Intent is persisted before the call (`modifyVolumeStatus`). A call whose outcome is open is repeated with its own class, whatever
 * the user wants meanwhile.
 *
 * Not here: sizes (`expand/`), in-tree volumes, which have no attributes.
 */
import type { ControllerModifyVolumeRequestInput, CsiChannel, DriverInfo } from '@csi-sidecars/csi';
import type {
  Answer,
  Attempt,
  Conclusion as RuntimeConclusion,
  EventRecorder,
  LoopTypes,
  PersistentVolume,
  PersistentVolumeClaim,
  RecordedEvent,
  VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';
import type { Claim, ClaimKey } from '../claim.ts';
import type { OpenCalls } from '../open-calls.ts';
import type { OwnWrites } from '../own-writes.ts';
import type { Secrets } from '../secret.ts';
import type { ResizerSettings } from '../settings.ts';
import type { VolumeTurns } from '../volume-turns.ts';
import type { ModifyEntry, ModifyMemory } from './memory.ts';

export interface ModifyLoop extends LoopTypes {
  readonly key: ClaimKey;
  readonly watched: {
    /** With the index `class`. */
    readonly claims: PersistentVolumeClaim;
    readonly volumes: PersistentVolume;
    readonly classes: VolumeAttributesClass;
  };
  readonly state: ModifyState;
  readonly action: Action;
}

/** The same for every claim of the process. */
export interface ModifyContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  readonly settings: ResizerSettings;
  readonly events: EventRecorder;
  readonly memory: ModifyMemory;
  readonly turns: VolumeTurns;
  readonly ownWrites: OwnWrites;
  readonly openCalls: OpenCalls;
}

export interface ModifyState extends Observed, Learned {}

export interface Observed {
  /** Its newest known state, own writes included. Undefined: it is gone, or has no volume. */
  readonly claim: Claim | undefined;
  /** Undefined: another driver's, or not arrived yet. */
  readonly volume: PersistentVolume | undefined;
  /** The class that the user wants; undefined: it does not exist, or the user wants none. */
  readonly wantedClass: VolumeAttributesClass | undefined;
  /** The class of the modification that is recorded as begun. */
  readonly targetClass: VolumeAttributesClass | undefined;
  /** How the last call for this claim ended, as far as this process knows. */
  readonly entry: ModifyEntry | undefined;
  /** How long an infeasible class is not requested again; 0: it may be requested. */
  readonly infeasibleForMs: number;
}

export interface Learned {
  readonly turn: 'unasked' | 'taken' | 'busy';
  /** The class that this run asks for, once that is decided and recorded. */
  readonly modifiesTo: VolumeAttributesClass | undefined;
  readonly marked: Attempt | 'conflict';
  /** The claim shows why the driver is not called. */
  readonly noCallSaved: Attempt | 'conflict';
  readonly cancelled: Attempt;
  readonly isAnnounced: boolean;
  readonly secrets: Answer<Secrets>;
  readonly modified: Attempt;
  readonly volumeSaved: Attempt;
  readonly resultSaved: Attempt;
  readonly failureSaved: Attempt;
}

export const nothingLearned: Learned = {
  turn: 'unasked',
  modifiesTo: undefined,
  marked: 'untried',
  noCallSaved: 'untried',
  cancelled: 'untried',
  isAnnounced: false,
  secrets: 'unasked',
  modified: 'untried',
  volumeSaved: 'untried',
  resultSaved: 'untried',
  failureSaved: 'untried',
};

export type Action = { readonly row: string } &
  /** Memory only: the expansion of this volume waits meanwhile. */
  (
    | { readonly kind: 'takeTurn'; readonly volumeHandle: string }
    | { readonly kind: 'savePending'; readonly claim: Claim }
    /** `target` belongs to another driver. */
    | { readonly kind: 'saveForeign'; readonly claim: Claim; readonly target: VolumeAttributesClass }
    | { readonly kind: 'cancel'; readonly claim: Claim }
    | { readonly kind: 'mark'; readonly claim: Claim; readonly target: VolumeAttributesClass }
    /** The recorded modification goes on, so there is nothing to write. */
    | { readonly kind: 'resume'; readonly target: VolumeAttributesClass }
    | { readonly kind: 'announce'; readonly claim: Claim; readonly target: VolumeAttributesClass }
    | { readonly kind: 'readSecret'; readonly reference: SecretReference }
    | { readonly kind: 'modify'; readonly claim: Claim; readonly request: ControllerModifyVolumeRequestInput }
    | { readonly kind: 'saveVolume'; readonly volume: PersistentVolume; readonly className: string }
    | { readonly kind: 'saveResult'; readonly claim: Claim; readonly className: string }
    | { readonly kind: 'saveFailure'; readonly claim: Claim; readonly failure: Error; readonly outcome: FailureOutcome }
    | Conclusion
  );

export type FailureOutcome = 'infeasible' | 'final' | 'open';

export interface Conclusion extends RuntimeConclusion {
  readonly events: readonly RecordedEvent[];
}
