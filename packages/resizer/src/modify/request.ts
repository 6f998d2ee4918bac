// SPDX-License-Identifier: Apache-2.0
/** From a PersistentVolume and a class to the request of ControllerModifyVolume, without secrets. */
import type { ControllerModifyVolumeRequestInput } from '@csi-sidecars/csi';
import type { PersistentVolume, VolumeAttributesClass } from '@csi-sidecars/runtime';
import { ok, refuse, type Result, type SecretReference } from '@csi-sidecars/volume';
import type { Claim } from '../claim.ts';
import { annotations, metadataKeys } from '../names.ts';
import * as messages from './messages.ts';

export interface ModifyRequest {
  readonly request: ControllerModifyVolumeRequestInput & { readonly volume_id: string };
  readonly reference: SecretReference | undefined;
}

export interface ModifyFacts {
  readonly claim: Claim;
  readonly volume: PersistentVolume;
  readonly target: VolumeAttributesClass;
}

export function toModifyRequest(
  { claim, volume, target }: ModifyFacts,
  { extraModifyMetadata }: { readonly extraModifyMetadata: boolean },
): Result<ModifyRequest> {
  const volumeHandle = volume.spec?.csi?.volumeHandle ?? '';
  if (volumeHandle === '') return refuse(messages.emptyHandle);
  const metadata = extraModifyMetadata
    ? {
        [metadataKeys.claimName]: claim.metadata?.name ?? '',
        [metadataKeys.claimNamespace]: claim.metadata?.namespace ?? '',
        [metadataKeys.volumeName]: volume.metadata?.name ?? '',
      }
    : {};
  return ok({
    reference: secretOf(volume),
    request: { volume_id: volumeHandle, mutable_parameters: { ...target.parameters, ...metadata } },
  });
}

/** The secret of the annotations counts only if both are there. */
function secretOf({ metadata, spec }: PersistentVolume): SecretReference | undefined {
  const name = metadata?.annotations?.[annotations.modifySecretName] ?? '';
  const namespace = metadata?.annotations?.[annotations.modifySecretNamespace] ?? '';
  if (name !== '' && namespace !== '') return { name, namespace };
  const reference = spec?.csi?.controllerExpandSecretRef;
  return reference?.name === undefined ? undefined : { name: reference.name, namespace: reference.namespace ?? '' };
}
