// SPDX-License-Identifier: Apache-2.0
/** From a PersistentVolume to the request of ControllerExpandVolume, without secrets. */
import type { ControllerExpandVolumeRequestInput } from '@csi-sidecars/csi';
import type { PersistentVolume } from '@csi-sidecars/runtime';
import {
  type CsiVolume,
  ok,
  type Quantity,
  refuse,
  replacesPlugin,
  type Result,
  type SecretReference,
  toBytes,
  toVolumeCapability,
  translateInTree,
} from '@csi-sidecars/volume';
import type { ResizerDriver } from '../driver.ts';
import * as messages from './messages.ts';

export interface ExpandRequest {
  readonly request: ControllerExpandVolumeRequestInput & { readonly volume_id: string };
  readonly reference: SecretReference | undefined;
  readonly migrated: boolean;
}

/** A refusal is the text that users see in the event. */
export function toExpandRequest(
  volume: PersistentVolume,
  target: Quantity,
  driver: ResizerDriver,
): Result<ExpandRequest> {
  const source = sourceOf(volume, driver.name);
  if (source.kind === 'error') return source;
  const { csi, accessModes, migrated } = source.value;
  if (csi.volumeHandle === '') return refuse(messages.emptyHandle);
  const { volumeMode, mountOptions = [] } = volume.spec ?? {};
  const capability = toVolumeCapability(
    { accessModes, volumeMode, fsType: csi.fsType ?? '', mountOptions },
    { singleNodeMultiWriter: driver.controllerCapabilities.has('SINGLE_NODE_MULTI_WRITER') },
  );
  if (capability.kind === 'error') return refuse(messages.noCapability(nameOf(volume), capability.message));
  const { name, namespace = '' } = csi.controllerExpandSecretRef ?? {};
  return ok({
    migrated,
    reference: name === undefined ? undefined : { name, namespace },
    request: {
      volume_id: csi.volumeHandle,
      capacity_range: { required_bytes: toBytes(target).toString() },
      volume_capability: capability.value,
    },
  });
}

/** A CSI source counts before an in-tree one, and only a driver that replaced a plugin serves in-tree volumes. */
function sourceOf(volume: PersistentVolume, driverName: string): Result<CsiVolume> {
  const { csi, accessModes = [] } = volume.spec ?? {};
  if (csi !== undefined) return ok({ csi, accessModes, migrated: false });
  const translated = replacesPlugin(driverName) ? translateInTree(volume) : undefined;
  if (translated === undefined) return refuse(messages.notMigrated(nameOf(volume)));
  return translated.kind === 'error' ? refuse(messages.notTranslated(translated.message)) : translated;
}

function nameOf({ metadata }: PersistentVolume): string {
  return metadata?.name ?? '';
}
