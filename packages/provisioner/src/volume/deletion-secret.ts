// SPDX-License-Identifier: Apache-2.0
/**
 * The secret for DeleteVolume: from the annotations written at creation or, for volumes without them, from the class. A volume
 * whose class is gone is deleted without a secret; a volume whose class is invalid is not deleted.
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
