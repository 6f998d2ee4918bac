// SPDX-License-Identifier: Apache-2.0
/** The port that mounts data at a path on the node. Every method is idempotent and completes work that a crash interrupted. */
import type { Publication, Staging, VolumeRecord } from '../core/records.ts';

export interface Mounts {
  stage(volume: VolumeRecord, staging: Staging): Promise<void>;
  unstage(volume: VolumeRecord, path: string): Promise<void>;
  publish(volume: VolumeRecord, publication: Publication): Promise<void>;
  /** Removes only this volume; fails on anything else. */
  unpublish(volumeId: string, path: string): Promise<void>;
  /** Whether something other than this volume is at the path. */
  isForeign(volumeId: string, path: string): Promise<boolean>;
  grow(volume: VolumeRecord, path: string): Promise<void>;
  /** The paths at which the volume should be mounted and is not. */
  missing(volume: VolumeRecord): Promise<readonly string[]>;
  /** Nothing below this folder stays mounted or attached to a device. */
  release(folder: string): Promise<void>;
  /** Runs `work` while none of the volumes changes, as far as that is possible. */
  frozen(volumes: readonly VolumeRecord[], work: () => Promise<void>): Promise<void>;
  /** Runs after a start: undoes a freeze that a crash left behind. */
  thaw(): Promise<void>;
}
