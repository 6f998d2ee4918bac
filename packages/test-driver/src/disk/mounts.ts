// SPDX-License-Identifier: Apache-2.0
/** How data gets to a path on the node. Every verb can be repeated and picks up what a crash left half done. */
import type { Publication, Staging, VolumeRecord } from '../core/records.ts';

export interface Mounts {
  stage(volume: VolumeRecord, staging: Staging): Promise<void>;
  unstage(volume: VolumeRecord, path: string): Promise<void>;
  publish(volume: VolumeRecord, publication: Publication): Promise<void>;
  /** Removes only what is this volume's; fails on anything else. */
  unpublish(volumeId: string, path: string): Promise<void>;
  /** Something else than this volume is there. */
  isForeign(volumeId: string, path: string): Promise<boolean>;
  grow(volume: VolumeRecord, path: string): Promise<void>;
  /** Where the volume should be mounted and is not. */
  missing(volume: VolumeRecord): Promise<readonly string[]>;
  /** Nothing below this folder stays mounted or attached to a device. */
  release(folder: string): Promise<void>;
  /** Runs `work` while none of the volumes changes, as far as that can be had. */
  frozen(volumes: readonly VolumeRecord[], work: () => Promise<void>): Promise<void>;
  /** After a start: undoes a freeze that a crash left. */
  thaw(): Promise<void>;
}
