// SPDX-License-Identifier: Apache-2.0
/** What the invariants of every step look at, and what they find. */
import {
  persistentVolumes,
  type PersistentVolume,
  volumeAttachments,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import type { DriverModel } from '@csi-sidecars/test-driver';
import { parseQuantity, type VolumeSnapshotContent, volumeSnapshotContents } from '@csi-sidecars/volume';
import { nodeIdOf } from '../../names.ts';

export interface Stage {
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  readonly driverName: string;
  readonly nowMs: () => number;
  /** When the last message to or from the process arrived, or will arrive, that was late. */
  readonly lateUntilMs: (process: string) => number;
  /** Whether a pod on the node has the volume mounted. */
  readonly isMounted: (volumeName: string, nodeId: string) => boolean;
  /** UIDs of objects of which others have replaced what our programs had written. */
  readonly overwritten: ReadonlySet<string>;
  /** The lease under which a method is called, by method. */
  readonly leaseOf: ReadonlyMap<string, string>;
  /** The program that calls a method, by method. */
  readonly programOf: ReadonlyMap<string, string>;
  /** Each node has a provisioner, which knows only its own calls. */
  readonly hasInstances: boolean;
  /** Each node has volumes of its own, and a claim shows from the first call on whose it is. */
  readonly isOnNodes: boolean;
  /** The driver wants each node to grow the file system, too. */
  readonly nodesExpand: boolean;
  /** Looking at many objects at each call would take longer than the calls. */
  readonly isChecked: boolean;
}

export interface Findings {
  readonly breach: (text: string) => void;
  /**
   * Names of volumes that a process had requested and not recorded when it died. Without a finalizer from the first call on, the volume of a
   * claim that is deleted then may stay: a window that the provisioner's page documents.
   */
  readonly orphaned: Set<string>;
  /** Handles of volumes and snapshots that an object has recorded as retained: they may outlive it. */
  readonly retained: Set<string>;
  /**
   * Names of snapshots and groups that got a final error after a call that was open, whose process had died, or whose snapshot is not
   * recorded; and of volumes whose claim was leaving. They may stay: the program takes the error for the end of all.
   */
  readonly denied: Set<string>;
  /**
   * UIDs of contents that a dead snapshot-controller had asked for, and that were made when their snapshot or group was gone: a window that the
   * page of snapshot-controller documents. An administrator has to delete them.
   */
  readonly bornLate: Set<string>;
}

export type Request = Readonly<Record<string, unknown>>;

/** A call, from the moment in which it is sent. */
export interface Call {
  readonly process: string;
  readonly method: string;
  readonly request: Request;
}

export interface Answer extends Call {
  readonly code: string;
}

/** One subject of what must hold at every step. Whatever it has is called. */
export interface Check {
  readonly beforeCall?: (call: Call) => void;
  /** The driver has answered, whether or not the caller still waits. */
  readonly answered?: (answer: Answer) => void;
  /** The caller has the answer, or has given up. */
  readonly heard?: (answer: Answer) => void;
  readonly afterCall?: (call: Call) => void;
  /** A process has died, or its leader has lost its memory. */
  readonly afterDeath?: (process: string) => void;
  /** Something has changed, not only a Lease. */
  readonly look?: () => void;
  /** Something has changed, perhaps a Lease. */
  readonly lookAtLeases?: () => void;
}

/** After these the driver may still be working on the request. */
export const open: ReadonlySet<string> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'Unavailable',
  'ResourceExhausted',
  'Aborted',
]);

export const podOf = (process: string): string => process.split('#')[0] ?? '';

export function ownVolumes({ server, driverName }: Stage): readonly PersistentVolume[] {
  return server.objects.list(persistentVolumes).filter(({ spec }) => spec?.csi?.driver === driverName);
}

export function ownContents({ server, driverName }: Stage): readonly VolumeSnapshotContent[] {
  return server.objects.list(volumeSnapshotContents).filter(({ spec }) => spec?.driver === driverName);
}

export function volumeOf(stage: Stage, handle: unknown): PersistentVolume | undefined {
  return ownVolumes(stage).find(({ spec }) => spec?.csi?.volumeHandle === handle);
}

export function attachmentOf(
  { server }: Stage,
  volume: PersistentVolume | undefined,
  nodeId: unknown,
): VolumeAttachment | undefined {
  return server.objects
    .list(volumeAttachments)
    .find(
      ({ spec }) => spec.source.persistentVolumeName === volume?.metadata?.name && nodeIdOf(spec.nodeName) === nodeId,
    );
}

export function bytesOf(size: string | undefined): bigint {
  return (parseQuantity(size ?? '0')?.nanos ?? -1n) / 1_000_000_000n;
}
