// SPDX-License-Identifier: Apache-2.0
/**
 * The volume loop: keeps our finalizer on PersistentVolumes whose volume must not outlive them unseen, and deletes volumes
 * that were released. Rows V1 to V13 of the provisioner's page.
 *
 * Not here: creating volumes (`claim/`), releasing them (the PV controller does), in-tree volumes.
 */
import type { CsiChannel, DriverFacts } from '@csi-sidecars/csi';
import type {
  EventRecorder,
  LoopTypes,
  ObjectKey,
  Outcome,
  PersistentVolume,
  RecordedEvent,
  StorageClass,
  VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';
import type { ProvisionerMetrics } from '../metrics.ts';
import type { ProvisionerSettings } from '../settings.ts';

export interface VolumeLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: {
    readonly volumes: PersistentVolume;
    readonly classes: StorageClass;
    /** With the index `volume`. Not watched for a driver that does not attach. */
    readonly attachments: VolumeAttachment;
  };
  readonly state: VolumeState;
  readonly action: Action;
}

/** The same for every volume of the process. */
export interface VolumeContext {
  readonly driver: DriverFacts;
  readonly channel: CsiChannel;
  readonly settings: ProvisionerSettings;
  readonly events: EventRecorder;
  readonly metrics: ProvisionerMetrics;
}

export interface VolumeState extends Observed, Learned {}

export interface Observed {
  readonly volume: PersistentVolume;
  /** The class whose parameters name the secret of volumes without deletion annotations. */
  readonly storageClass: StorageClass | undefined;
  /** A node that a VolumeAttachment ties the volume to. */
  readonly attachedTo: string | undefined;
}

export interface Learned {
  readonly finalizing: 'untried' | 'done' | 'gone' | { readonly failure: Error };
  /** Undefined values: the secret could not be read; the deletion goes on without. */
  readonly secrets: 'unread' | { readonly values: Readonly<Record<string, string>> | undefined };
  readonly deletion: 'untried' | 'done' | { readonly failure: Error };
  readonly removal: 'untried' | 'done' | 'gone' | { readonly failure: Error };
  readonly release: 'untried' | 'done' | { readonly failure: Error };
}

export const nothingLearned: Learned = {
  finalizing: 'untried',
  secrets: 'unread',
  deletion: 'untried',
  removal: 'untried',
  release: 'untried',
};

/** Of the volume table. Stable names. */
export type Row = `V${number}`;

export type Step =
  | { readonly kind: 'setFinalizer'; readonly change: 'add' | 'remove' }
  | { readonly kind: 'readSecret'; readonly reference: SecretReference }
  | { readonly kind: 'deleteVolume'; readonly secrets: Readonly<Record<string, string>> | undefined }
  | { readonly kind: 'removeObject' }
  /** Takes our finalizer off, after the volume is gone. */
  | { readonly kind: 'release' };

export interface Ending {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
  readonly events: readonly RecordedEvent[];
  readonly counts: 'success' | 'failure' | 'no';
}

export type Conclusion = { readonly row: Row } & Ending;
export type Action = { readonly row: Row } & (Step | Ending);
