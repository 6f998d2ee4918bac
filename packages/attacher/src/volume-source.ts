// SPDX-License-Identifier: Apache-2.0
/** The source of a VolumeAttachment, which names its volume in exactly one of two fields. */
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import { ok, refuse, type Result } from '@csi-sidecars/volume';

export type VolumeSource =
  | { readonly kind: 'persistentVolume'; readonly name: string }
  | { readonly kind: 'inline'; readonly spec: NonNullable<PersistentVolume['spec']> };

export function volumeSourceOf({ spec }: VolumeAttachment): Result<VolumeSource> {
  const { persistentVolumeName: name, inlineVolumeSpec: inline } = spec.source;
  if (name !== undefined && inline !== undefined) {
    return refuse('both InlineCSIVolumeSource and PersistentVolumeName specified in VA source'); // A2, D2
  }
  if (name !== undefined) return ok({ kind: 'persistentVolume', name });
  if (inline !== undefined) return ok({ kind: 'inline', spec: inline });
  return refuse('neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source'); // A2, D2
}

export const volumeNotFound = (name: string): string => `persistentvolume "${name}" not found`; // A4, D4
