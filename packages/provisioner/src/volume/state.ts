// SPDX-License-Identifier: Apache-2.0
/**
 * The volume loop: keeps our finalizer on PersistentVolumes whose volume must be deleted with them, and deletes released
 * volumes. Rows V1 to V14 of the provisioner's page.
 *
 * Not here: creating volumes (`claim/`), releasing them (the PV controller does).
 */
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
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
import type { CapacityChange, CapacityChanges } from '../capacity/change.ts';
import type { Ownership } from '../ownership.ts';
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

/** Data that is the same for every volume of the process. */
export interface VolumeContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  readonly settings: ProvisionerSettings;
  readonly events: EventRecorder;
  readonly metrics: ProvisionerMetrics;
  /** Learns of the conclusions. */
  readonly capacity: CapacityChanges;
  /** The waits before a volume of another node is written; undefined without node deployment. */
  readonly turns: Ownership<ObjectKey> | undefined;
}

export interface VolumeState extends Observed, Learned {}

export interface Observed {
  readonly volume: PersistentVolume;
  /** The class whose parameters name the secret of volumes without deletion annotations. */
  readonly storageClass: StorageClass | undefined;
  /** A node to which a VolumeAttachment of the volume refers. */
  readonly attachedTo: string | undefined;
  /** Node deployment: whether this node can reach the volume. */
  readonly place: 'here' | 'elsewhere';
  /** The time that is left before a volume of another node is written; undefined if the wait has not begun. */
  readonly waitMs: number | undefined;
}

export interface Learned {
  readonly finalizing: 'untried' | 'done' | 'gone' | { readonly failure: Error };
  /** Values are undefined if the secret could not be read; the deletion then continues without it. */
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

/** Row ids of the volume table. They are stable names. */
export type Row = `V${number}`;

export type Step =
  | { readonly kind: 'setFinalizer'; readonly change: 'add' | 'remove' }
  | { readonly kind: 'startWait' }
  | { readonly kind: 'readSecret'; readonly reference: SecretReference }
  | {
      readonly kind: 'deleteVolume';
      readonly volumeId: string;
      /** The volume is one of an in-tree plugin. */
      readonly migrated: boolean;
      readonly secrets: Readonly<Record<string, string>> | undefined;
    }
  | { readonly kind: 'removeObject' }
  /** Removes our finalizer after the volume is gone. */
  | { readonly kind: 'release' };

export interface Ending {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
  readonly events: readonly RecordedEvent[];
  readonly counts: 'success' | 'failure' | 'no';
  /** What the attempt says about the capacity of the driver. `decide` adds it to every conclusion. */
  readonly capacity?: CapacityChange;
}

export type Conclusion = { readonly row: Row } & Ending;
export type Action = { readonly row: Row } & (Step | Ending);
