// SPDX-License-Identifier: Apache-2.0
/** From the caches to the state of one PersistentVolume. Synchronous, no network. */
import {
  type Lister,
  type PersistentVolume,
  type StorageClass,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { classNameOf } from '../metadata.ts';
import type { Observed, VolumeName } from './state.ts';

export interface ObserveDeps {
  readonly volumes: Lister<PersistentVolume>;
  readonly classes: Lister<StorageClass>;
  /** With the index `volume`. Undefined: the driver does not attach, so nothing is checked. */
  readonly attachments: Lister<VolumeAttachment> | undefined;
}

export function observe({ volumes, classes, attachments }: ObserveDeps, name: VolumeName): Observed | undefined {
  const volume = volumes.get(toObjectKey(undefined, name));
  if (volume === undefined) return undefined;
  return {
    volume,
    storageClass: classes.get(toObjectKey(undefined, classNameOf(volume))),
    // Attached or not, deleting or not: as long as the object is there somebody may still use the volume.
    attachedTo: attachments?.byIndex('volume', name)[0]?.spec.nodeName,
  };
}
