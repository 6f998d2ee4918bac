// SPDX-License-Identifier: Apache-2.0
/** Builds the publish request from a VolumeAttachment and its volume, without secrets and node id. */
import type { ControllerPublishVolumeRequestInput, DriverInfo } from '@csi-sidecars/csi';
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
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
import type { AttacherSettings } from '../settings.ts';

export interface PlanContext {
  readonly driver: DriverInfo;
  readonly settings: AttacherSettings;
}

export interface Plan {
  readonly request: ControllerPublishVolumeRequestInput & { readonly volume_id: string };
  readonly reference: SecretReference | undefined;
  readonly migrated: boolean;
}

export type PlanAnswer =
  | { readonly kind: 'ok'; readonly value: Plan }
  | { readonly kind: 'error'; readonly row: 'A7' | 'A8'; readonly message: string };

export function toPlan(
  attachment: VolumeAttachment,
  volume: PersistentVolume | undefined,
  { driver, settings }: PlanContext,
): PlanAnswer {
  const target = toTarget(attachment, volume);
  if (target.kind === 'error') return { ...target, row: 'A7' };
  const { csi, accessModes, migrated, reference, volumeMode, mountOptions } = target.value;
  const capability = toVolumeCapability(
    { accessModes, volumeMode, mountOptions, fsType: csi.fsType || settings.defaultFsType },
    { singleNodeMultiWriter: driver.controllerCapabilities.has('SINGLE_NODE_MULTI_WRITER') },
  );
  if (capability.kind === 'error') return { ...capability, row: 'A8' };
  const plan: Plan = {
    reference,
    migrated,
    request: {
      volume_id: csi.volumeHandle,
      volume_capability: capability.value,
      readonly: csi.readOnly === true && driver.controllerCapabilities.has('PUBLISH_READONLY'),
      ...(csi.volumeAttributes === undefined ? {} : { volume_context: csi.volumeAttributes }),
    },
  };
  return { kind: 'ok', value: plan };
}

export interface Target extends CsiVolume {
  readonly reference: SecretReference | undefined;
  readonly volumeMode: string | undefined;
  readonly mountOptions: readonly string[];
}

/** Describes the volume of an attachment, a PersistentVolume or an inline volume, as a CSI volume. */
export function toTarget(attachment: VolumeAttachment, volume: PersistentVolume | undefined): Result<Target> {
  const source = volumeSourceOf(attachment);
  if (source.kind === 'error') return source;
  if (source.value.kind === 'inline') return describe(source.value.spec, toInlineCsiVolume(source.value.spec));
  if (volume === undefined) return refuse(volumeNotFound(source.value.name));
  return describe(volume.spec ?? {}, toCsiVolume(volume));
}

function describe(spec: NonNullable<PersistentVolume['spec']>, translated: Result<CsiVolume>): Result<Target> {
  if (translated.kind === 'error') return translated;
  const { name, namespace } = translated.value.csi.controllerPublishSecretRef ?? {};
  return ok({
    ...translated.value,
    reference: name === undefined ? undefined : { name, namespace: namespace ?? '' },
    volumeMode: spec.volumeMode,
    mountOptions: spec.mountOptions ?? [],
  });
}
