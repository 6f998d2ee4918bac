// SPDX-License-Identifier: Apache-2.0
/** From the caches to the state of one PersistentVolume. Synchronous, no network. */
import { type Caches, type ObjectKey, toObjectKey } from '@csi-sidecars/runtime';
import { classNameOf } from '../metadata.ts';
import type { Observed, VolumeContext, VolumeLoop } from './state.ts';
import { isElsewhere } from './volume.ts';

/** Undefined if it is gone, or not ours. */
export function observe(
  { settings, turns }: Pick<VolumeContext, 'settings' | 'turns'>,
  { volumes, classes, attachments }: Caches<VolumeLoop>,
  key: ObjectKey,
): Observed | undefined {
  const volume = volumes.get(key);
  if (volume === undefined) return undefined;
  return {
    volume,
    storageClass: classes.get(toObjectKey(undefined, classNameOf(volume))),
    // In any state: as long as the attachment exists, a node may still use the volume.
    attachedTo: attachments.byIndex('volume', key)[0]?.spec.nodeName,
    place: isElsewhere(volume, settings.node) ? 'elsewhere' : 'here',
    waitMs: turns?.leftMs(key),
  };
}
