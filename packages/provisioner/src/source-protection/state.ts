// SPDX-License-Identifier: Apache-2.0
/**
 * The source loops take our finalizer off a source when no claim needs it any more: one loop for VolumeSnapshots, one for claims
 * that are being deleted while clones of them are made. Their table is the same but for the subject. Rows N1 to N13 of the
 * provisioner's page.
 *
 * A removal is decided on the caches and on memory, then proved by live reads of the source and of the claims, then written for exactly
 * the state that was read, while no claim of this process begins to use the source.
 *
 * Not here: putting the finalizers on (`claim/`), which claims hold a source (`source/holds.ts`).
 */
import type {
  KubeObject,
  LoopTypes,
  ObjectKey,
  Outcome,
  PersistentVolume,
  PersistentVolumeClaim,
  WakeUps,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';
import type { ProvisionerSettings } from '../settings.ts';
import type { SourceHolds } from '../source/holds.ts';
import type { SourceKey, SourceRef } from '../source/source.ts';
import type { LiveClaims } from './live-claims.ts';
import type { Need } from './need.ts';

export interface SourceLoop extends LoopTypes {
  /** Namespace and name of the source. */
  readonly key: ObjectKey;
  readonly watched: {
    /** With the index `source`: claims that may need a source. Also claims that are being deleted with our finalizer. */
    readonly claims: PersistentVolumeClaim;
    readonly volumes: PersistentVolume;
    /** Those with our finalizer. Not watched without a sweep. */
    readonly snapshots: VolumeSnapshot;
  };
  readonly state: SourceState;
  readonly action: Action;
}

/** What the claim loop's memory says of sources. */
export type HeldSources = Pick<SourceHolds, 'holders' | 'stanceOf' | 'whileFree'>;

export interface SourceDeps {
  readonly driverName: string;
  readonly settings: ProvisionerSettings;
  readonly holds: HeldSources;
  /** Called when no claim of this process holds the source any more. */
  readonly sources: WakeUps<SourceKey>;
  readonly liveClaims: LiveClaims;
}

export interface SourceState extends Observed, Learned {}

export interface Observed {
  readonly source: SourceRef;
  /** How many claims of this process hold it. */
  readonly holders: number;
  /** According to the caches and to memory. */
  readonly need: Need;
  /** As the cache has it. */
  readonly cached: KubeObject | undefined;
  /** A claim of this process held it. Otherwise an earlier program, or that of another driver, may have put the finalizer on. */
  readonly origin: 'ours' | 'found';
  /** How many runs before this one, one after the other, lost to another writer. */
  readonly conflicts: number;
  /** `many`: an instance of each node uses sources, and this one does not know what the others do. */
  readonly instances: 'one' | 'many';
}

export interface Failed {
  readonly failure: Error;
}

export interface Learned {
  /** The source as the API server has it, whole. */
  readonly live: 'unread' | 'gone' | Failed | { readonly object: KubeObject };
  /** The driver that the snapshot belongs to. */
  readonly owner: 'unread' | 'us' | 'other' | Failed;
  /** The need according to a live list of the claims. */
  readonly proof: 'unread' | Failed | Need;
  readonly release: 'untried' | 'done' | 'held' | Failed;
}

export const nothingLearned: Learned = { live: 'unread', owner: 'unread', proof: 'unread', release: 'untried' };

/** Row ids of the table of both source loops. They are stable names. */
export type Row = `N${number}`;

export type Step =
  | { readonly kind: 'readSource' }
  /** Reads the content of the snapshot, which names the driver. */
  | { readonly kind: 'readOwner'; readonly contentName: string }
  | { readonly kind: 'listClaims' }
  | { readonly kind: 'release'; readonly object: KubeObject };

export interface Ending {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
  /** Why the finalizer stays although a removal was tried. */
  readonly refused?: Error;
}

export type Conclusion = { readonly row: Row } & Ending;
export type Action = { readonly row: Row } & (Step | Ending);
