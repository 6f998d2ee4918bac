// SPDX-License-Identifier: Apache-2.0
/** Reads from the caches under which names the driver lists an attachment. Synchronous, no network. */
import { type Lister, type PersistentVolume, toObjectKey, type VolumeAttachment } from '@csi-sidecars/runtime';
import {
  type CsiVolume,
  ok,
  refuse,
  repairVolumeHandle,
  type Result,
  toCsiVolume,
  toInlineCsiVolume,
} from '@csi-sidecars/volume';
import { knownNodeId, type NodeIdDeps } from '../node-id.ts';
import { volumeNotFound, type VolumeSource, volumeSourceOf } from '../volume-source.ts';
import type { ListedNames } from './state.ts';

export interface NamesDeps extends NodeIdDeps {
  readonly volumes: Lister<PersistentVolume>;
}

/** A PersistentVolume that is being deleted has the same names. */
export function namesOf(deps: NamesDeps, attachment: VolumeAttachment): Result<ListedNames> {
  const nodeId = knownNodeId(deps, attachment);
  if (nodeId.kind === 'error') return nodeId;
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return source;
  const volume = csiVolumeOf(deps, source.value);
  if (volume.kind === 'error') return volume;
  const { csi, migrated } = volume.value;
  // An inline spec is the translation of an in-tree volume, so its handle has the same unspecified parts.
  const isTranslated = migrated || source.value.kind === 'inline';
  const handle = isTranslated ? repairVolumeHandle(csi, nodeId.value) : ok(csi.volumeHandle);
  return handle.kind === 'error' ? handle : ok({ volumeHandle: handle.value, nodeId: nodeId.value });
}

function csiVolumeOf({ volumes }: NamesDeps, source: VolumeSource): Result<CsiVolume> {
  if (source.kind === 'inline') return toInlineCsiVolume(source.spec);
  const volume = volumes.get(toObjectKey(undefined, source.name));
  return volume === undefined ? refuse(volumeNotFound(source.name)) : toCsiVolume(volume);
}
