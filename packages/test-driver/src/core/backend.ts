// SPDX-License-Identifier: Apache-2.0
/**
 * The port to the storage of the data. Every method is idempotent: work that is already done is not repeated, and missing data is not
 * an error. Failures are thrown as they are; the services turn them into a status.
 */
import type { HealthEntry, Publication, SnapshotRecord, Staging, VolumeRecord } from './records.ts';

export type Content =
  | { readonly kind: 'empty' }
  | { readonly kind: 'snapshot'; readonly snapshot: SnapshotRecord }
  | { readonly kind: 'volume'; readonly volume: VolumeRecord };

export interface Usage {
  readonly unit: 'BYTES' | 'INODES';
  readonly total: bigint;
  readonly available: bigint | undefined;
  readonly used: bigint | undefined;
}

/** The bytes of a snapshot, to be read from any offset. */
export interface SnapshotImage extends AsyncDisposable {
  readonly sizeBytes: number;
  /** Fills the buffer from the offset on; what is beyond the end of the image becomes zero. */
  readonly read: (offset: number, into: Buffer) => Promise<void>;
}

export interface Backend {
  createVolume(volume: VolumeRecord, content: Content): Promise<void>;
  deleteVolume(volume: VolumeRecord): Promise<void>;
  /** Brings the data to `volume.capacityBytes`; never shrinks. */
  expandVolume(volume: VolumeRecord): Promise<void>;
  /** Takes snapshots of all volumes at one point in time, as far as the medium allows. */
  createSnapshots(cuts: readonly { readonly snapshot: SnapshotRecord; readonly volume: VolumeRecord }[]): Promise<void>;
  deleteSnapshot(snapshot: SnapshotRecord): Promise<void>;
  /** Rejects if the snapshot is of directories and not an image. */
  openSnapshot(snapshot: SnapshotRecord): Promise<SnapshotImage>;

  stage(volume: VolumeRecord, staging: Staging): Promise<void>;
  unstage(volume: VolumeRecord, path: string): Promise<void>;
  publish(volume: VolumeRecord, publication: Publication): Promise<void>;
  /** Cleans up a path of this volume, which may already be gone; fails if anything else is at the path. */
  unpublish(volumeId: string, path: string): Promise<void>;
  /** Whether something other than this volume is at the path. */
  isForeign(volumeId: string, path: string): Promise<boolean>;
  /** Lets the file system, if there is one, grow to the size of the device below. */
  growFileSystem(volume: VolumeRecord, path: string): Promise<void>;
  usage(volume: VolumeRecord, path: string): Promise<readonly Usage[]>;
  /** What is wrong with the volume; empty if nothing is. */
  health(volume: VolumeRecord): Promise<readonly HealthEntry[]>;

  /** Removes all data that belongs to none of these, which a crash left behind. */
  sweep(known: { readonly volumes: ReadonlySet<string>; readonly snapshots: ReadonlySet<string> }): Promise<void>;
}
