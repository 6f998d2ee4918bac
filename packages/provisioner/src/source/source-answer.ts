// SPDX-License-Identifier: Apache-2.0
/** What the tables of sources have in common. */
import type { VolumeContentSourceInput } from '@csi-sidecars/csi';
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import {
  parseQuantity,
  type Place,
  toBytes,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';

export type SourceRow = `R${number}` | `D${number}`;

export type SourceAnswer = { readonly row: SourceRow } &
  /** The snapshot's content or the source claim's PersistentVolume has to be read. */
  (
    | { readonly kind: 'readBacking'; readonly name: string }
    | {
        readonly kind: 'usable';
        readonly content: VolumeContentSourceInput;
        /** It has our finalizer. */
        readonly isProtected: boolean;
        /** Alpha: where the snapshot can be used. Undefined: everywhere, or it is not looked at. */
        readonly places?: readonly Place[] | undefined;
      }
    | { readonly kind: 'refused'; readonly message: string }
  );

export type Read<T> =
  | { readonly kind: 'found'; readonly object: T }
  | { readonly kind: 'failed'; readonly message: string };

/** A source, and the object behind it: the content of a snapshot, the PersistentVolume of a claim. */
export type SourceRead =
  | {
      readonly kind: 'snapshot';
      readonly snapshot: Read<VolumeSnapshot>;
      readonly content: Read<VolumeSnapshotContent> | 'unread';
    }
  | {
      readonly kind: 'claim';
      readonly source: Read<PersistentVolumeClaim>;
      readonly volume: Read<PersistentVolume> | 'unread';
    };

export function refused(row: SourceRow, message: string): SourceAnswer {
  return { row, kind: 'refused', message };
}

export function bytesOf(text: string): bigint | undefined {
  const quantity = parseQuantity(text);
  return quantity && toBytes(quantity);
}
