// SPDX-License-Identifier: Apache-2.0
/**
 * Which secret goes with DeleteVolume: the annotations written at creation, for volumes that lack them the class. A volume
 * whose class is gone is deleted without a secret; one whose class is there and wrong is not deleted.
 */
import type { PersistentVolume, StorageClass } from '@csi-sidecars/runtime';
import { ok, refuse, type Result, type SecretReference } from '@csi-sidecars/volume';
import { annotations } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import { toSecretReference } from '../parameters/secrets.ts';
import { noSecretReference } from './messages.ts';

export function toDeletionSecret(
  volume: PersistentVolume,
  storageClass: StorageClass | undefined,
): Result<SecretReference | undefined> {
  const all = annotationsOf(volume);
  const [name, namespace] = [all[annotations.deletionSecretName], all[annotations.deletionSecretNamespace]];
  if (name !== undefined && namespace !== undefined) {
    return ok(name === '' || namespace === '' ? undefined : { name, namespace });
  }
  const claim = volume.spec?.claimRef;
  if (storageClass === undefined || claim === undefined) return ok(undefined);
  const volumeName = volume.metadata?.name ?? '';
  const reference = toSecretReference(storageClass.parameters ?? {}, 'provisioner', {
    volumeName,
    claimName: claim.name ?? '',
    claimNamespace: claim.namespace ?? '',
    claimAnnotations: {},
  });
  return reference.kind === 'error' ? refuse(noSecretReference(volumeName, reference.message)) : reference;
}
