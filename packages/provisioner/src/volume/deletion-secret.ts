// SPDX-License-Identifier: Apache-2.0
/**
 * The secret for DeleteVolume: from the annotations written at creation or, for volumes without them, from the class. A volume
 * whose class is gone is deleted without a secret; a volume whose class is invalid is not deleted.
 */
import type { PersistentVolume, StorageClass } from '@csi-sidecars/runtime';
import { isInTree, ok, refuse, type Result, type SecretReference, toDriverClass } from '@csi-sidecars/volume';
import { annotations } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import { toSecretReference } from '../parameters/secrets.ts';
import { noSecretReference } from './messages.ts';

export interface DeletionFacts {
  readonly volume: PersistentVolume;
  readonly storageClass: StorageClass | undefined;
}

export function toDeletionSecret(
  { volume, storageClass: given }: DeletionFacts,
  driverName: string,
): Result<SecretReference | undefined> {
  const all = annotationsOf(volume);
  const [name, namespace] = [all[annotations.deletionSecretName], all[annotations.deletionSecretNamespace]];
  if (name !== undefined && namespace !== undefined) {
    return ok(name === '' || namespace === '' ? undefined : { name, namespace });
  }
  if (given === undefined) return ok(undefined);
  const storageClass = isInTree(volume) ? toDriverClass(given, driverName) : ok(given);
  if (storageClass.kind === 'error') return storageClass;
  const claim = volume.spec?.claimRef;
  if (claim === undefined) return ok(undefined);
  const volumeName = volume.metadata?.name ?? '';
  const reference = toSecretReference(storageClass.value.parameters ?? {}, 'provisioner', {
    volumeName,
    claimName: claim.name ?? '',
    claimNamespace: claim.namespace ?? '',
    claimAnnotations: {},
  });
  return reference.kind === 'error' ? refuse(noSecretReference(volumeName, reference.message)) : reference;
}
