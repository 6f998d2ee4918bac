// SPDX-License-Identifier: Apache-2.0
/** From the caches to the state of one PersistentVolume. Synchronous, no network. */
import { type Lister, type PersistentVolume, toObjectKey, type VolumeAttachment } from '@csi-sidecars/runtime';
import type { ReleaseState, VolumeName } from './state.ts';

export interface ObserveDeps {
  readonly volumes: Lister<PersistentVolume>;
  /** Of every attacher, with the index `volume`. */
  readonly attachments: Lister<VolumeAttachment>;
}

export function observe({ volumes, attachments }: ObserveDeps, name: VolumeName): ReleaseState | undefined {
  const volume = volumes.get(toObjectKey(undefined, name));
  if (volume === undefined) return undefined;
  return { volume, attachment: attachments.byIndex('volume', name)[0]?.metadata?.name, release: 'untried' };
}
