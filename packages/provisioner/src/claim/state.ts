// SPDX-License-Identifier: Apache-2.0
/**
 * The claim loop: from a claim that waits for a volume of this driver to a saved PersistentVolume, and no claim forgotten
 * while a volume may exist for it. Rows C1 to C35 of the provisioner's page.
 *
 * One run is: observe, then decide, perform, learn, until a conclusion. What is read from the caches is at the top of the
 * state, what this run learned below. The order of writes follows from `decide` alone.
 *
 * Not here: saving a PersistentVolume that could not be saved at once (`saving/`), deleting volumes (`volume/`), sources
 * of data, in-tree migration.
 */
import type { CreateVolumeRequestInput, DriverFacts } from '@csi-sidecars/csi';
import type {
  Outcome,
  PersistentVolume,
  PersistentVolumeClaim,
  RecordedEvent,
  StorageClass,
} from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';
import type { SaveOutcome } from '../saving/outcome.ts';
import { annotations } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import type { SecretValues } from '../secret-values.ts';
import type { ProvisionerSettings } from '../settings.ts';
import type { CreateOutcome, TooSmall } from './outcome.ts';
import type { PlanAnswer } from './plan.ts';
import type { Pinned } from './unsettled.ts';

/** The same for every claim of the process. */
export interface ClaimContext {
  readonly driver: DriverFacts;
  readonly settings: ProvisionerSettings;
  readonly supportsTopology: boolean;
}

export interface ClaimState extends Observed, Learned {}

export interface Observed {
  readonly claim: PersistentVolumeClaim;
  readonly presence: 'live' | 'deleting' | 'gone';
  readonly isProtected: boolean;
  /** What memory says. */
  readonly unsettled: 'no' | 'pinned' | 'saving' | 'settled';
  /** The request that is open or, later in this run, was. */
  readonly pinned: Pinned | undefined;
  readonly storageClass: StorageClass | undefined;
  /** The PersistentVolume under our name for this claim: none, its own, or that of another claim. */
  readonly volume:
    | { readonly kind: 'none' | 'own' }
    | { readonly kind: 'taken'; readonly name: string; readonly owner: string };
  /** CreateVolume's and the PersistentVolume's name; empty when it cannot be formed. */
  readonly volumeName: string;
  /** How long the class's InvalidArgument still holds; 0: not at all. */
  readonly infeasibleForMs: number;
}

export interface Learned {
  readonly announced: 'no' | 'yes';
  readonly planned: PlanAnswer | undefined;
  readonly secrets: SecretRead;
  readonly attributes: AttributesRead;
  readonly protecting: Write;
  readonly unprotecting: Write;
  readonly rescheduling: Write;
  readonly created: CreateOutcome | undefined;
  readonly cleanedUp: 'no' | 'yes' | { readonly failure: string; readonly isOpen: boolean };
  readonly saved: SaveOutcome | undefined;
}

export type SecretRead = { readonly kind: 'unread' } | SecretValues;

export type AttributesRead =
  | { readonly kind: 'unread' }
  | { readonly kind: 'found'; readonly driverName: string; readonly parameters: Readonly<Record<string, string>> }
  | { readonly kind: 'failed'; readonly message: string };

/** An update of the claim. `refused` will not succeed by being repeated; `failed` may. */
export type Write = 'untried' | 'done' | 'refused' | 'failed';

export const nothingLearned: Learned = {
  announced: 'no',
  planned: undefined,
  secrets: { kind: 'unread' },
  attributes: { kind: 'unread' },
  protecting: 'untried',
  unprotecting: 'untried',
  rescheduling: 'untried',
  created: undefined,
  cleanedUp: 'no',
  saved: undefined,
};

export type Action =
  | { readonly kind: 'announce' }
  | { readonly kind: 'plan'; readonly purpose: 'provision' | 'settle' }
  | { readonly kind: 'readSecret'; readonly reference: SecretReference }
  | { readonly kind: 'readAttributesClass'; readonly name: string }
  | { readonly kind: 'protect' }
  | { readonly kind: 'unprotect' }
  | { readonly kind: 'reschedule'; readonly protection: 'keep' | 'remove' }
  /** Memory only: nothing is outstanding any more. */
  | { readonly kind: 'settle' }
  | { readonly kind: 'createVolume'; readonly pinned: Pinned; readonly request: CreateVolumeRequestInput }
  | { readonly kind: 'cleanUp'; readonly volume: TooSmall; readonly secrets: Readonly<Record<string, string>> }
  | { readonly kind: 'save'; readonly volume: PersistentVolume }
  | Conclusion;

export interface Conclusion {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
  readonly events: readonly RecordedEvent[];
  /** Recorded under the driver side's component name. */
  readonly driverEvents: readonly RecordedEvent[];
  /** How the attempt counts in the metrics. */
  readonly counts: 'success' | 'failure' | 'no';
  /** The class refuses this claim: look again much later. */
  readonly infeasible: 'yes' | 'no';
}

/** A claim that is being deleted takes no new finalizer. */
export function mayProtect(s: ClaimState): boolean {
  return s.presence === 'live' && !s.isProtected;
}

export function hasSelectedNode(s: ClaimState): boolean {
  return Object.hasOwn(annotationsOf(s.claim), annotations.selectedNode);
}
