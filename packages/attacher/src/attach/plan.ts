// SPDX-License-Identifier: Apache-2.0
/** From a VolumeAttachment and its volume to what the driver is told, but for secrets and node id. */
import type { ControllerPublishVolumeRequestInput } from '@csi-sidecars/csi';
import type { VolumeAttachment } from '@csi-sidecars/runtime';
import {
  type CsiVolume,
  ok,
  refuse,
  type Result,
  type SecretReference,
  toCsiVolume,
  toInlineCsiVolume,
  toVolumeCapability,
} from '@csi-sidecars/volume';
import { volumeNotFound, volumeSourceOf } from '../volume-source.ts';
import type { AttachContext, AttachState } from './state.ts';

export interface Plan {
  readonly request: ControllerPublishVolumeRequestInput;
  readonly reference: SecretReference | undefined;
  readonly migrated: boolean;
}

export function toPlan(
  { volume }: Pick<AttachState, 'volume'>,
  attachment: VolumeAttachment,
  { driver, settings }: AttachContext,
): Result<Plan> {
  const target = toTarget(attachment, volume);
  if (target.kind === 'error') return target;
  const { csi, accessModes, migrated, reference, volumeMode, mountOptions } = target.value;
  const capability = toVolumeCapability(
    { accessModes, volumeMode, mountOptions, fsType: csi.fsType || settings.defaultFsType },
    { singleNodeMultiWriter: driver.controllerCapabilities.has('SINGLE_NODE_MULTI_WRITER') },
  );
  if (capability.kind === 'error') return capability;
  return ok({
    reference,
    migrated,
    request: {
      volume_id: csi.volumeHandle,
      volume_capability: capability.value,
      readonly: csi.readOnly === true && driver.controllerCapabilities.has('PUBLISH_READONLY'),
      ...(csi.volumeAttributes === undefined ? {} : { volume_context: csi.volumeAttributes }),
    },
  });
}

export interface Target extends CsiVolume {
  readonly reference: SecretReference | undefined;
  readonly volumeMode: string | undefined;
  readonly mountOptions: readonly string[];
}

/** The volume in CSI's words, whichever way the attachment names it. */
export function toTarget(attachment: VolumeAttachment, volume: AttachState['volume']): Result<Target> {
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return source;
  if (source.value.kind === 'persistentVolume' && volume.kind !== 'found') {
    return refuse(volumeNotFound(source.value.name));
  }
  const spec = source.value.kind === 'inline' ? source.value.spec : volume.kind === 'found' ? volume.volume.spec : {};
  const translated =
    volume.kind === 'found' && source.value.kind === 'persistentVolume'
      ? toCsiVolume(volume.volume)
      : toInlineCsiVolume(spec ?? {});
  if (translated.kind === 'error') return translated;
  const { name, namespace } = translated.value.csi.controllerPublishSecretRef ?? {};
  return ok({
    ...translated.value,
    reference: name === undefined ? undefined : { name, namespace: namespace ?? '' },
    volumeMode: spec?.volumeMode,
    mountOptions: spec?.mountOptions ?? [],
  });
}
