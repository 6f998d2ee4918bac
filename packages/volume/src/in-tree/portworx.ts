// SPDX-License-Identifier: Apache-2.0
/** Portworx volumes. Their requests are authorised by a secret. */
import { ok } from '../result.ts';
import { nonZero, prefixed } from './parameters.ts';
import type { CsiSource, InTreeProvider, Parameters } from './provider.ts';

const secretName = 'openstorage.io/auth-secret-name';
const secretNamespace = 'openstorage.io/auth-secret-namespace';
const purposes = [
  'provisioner',
  'controller-publish',
  'node-publish',
  'node-stage',
  'controller-expand',
  'node-expand',
] as const;

export const portworxVolume: InTreeProvider<'portworxVolume'> = {
  driver: 'pxd.portworx.com',
  plugin: 'kubernetes.io/portworx-volume',
  toCsi: ({ volumeID, fsType = '' }, { metadata }) =>
    ok({ volumeHandle: volumeID, fsType, volumeAttributes: {}, ...secretsOf(metadata?.annotations ?? {}) }),
  toInTree: ({ volumeHandle, readOnly = false, fsType = '' }) =>
    ok({ source: { volumeID: volumeHandle, ...nonZero({ fsType, readOnly }) } }),
  identityOf: ({ volumeID }) => volumeID,
  storageClass: {
    names: 'driver',
    toParameters: ({ key, name, value }) => {
      if (name === secretName) return forEveryPurpose('name', value);
      if (name === secretNamespace) return forEveryPurpose('namespace', value);
      return { [key]: value };
    },
  },
};

function forEveryPurpose(part: 'name' | 'namespace', value: string): Parameters {
  return Object.fromEntries(purposes.map((purpose) => [prefixed(`${purpose}-secret-${part}`), value]));
}

type Secrets = Pick<CsiSource, 'controllerPublishSecretRef' | 'controllerExpandSecretRef'>;

/** Named in annotations, and only if both exist. */
function secretsOf(annotations: Readonly<Record<string, string>>): Secrets {
  const { [secretName]: name, [secretNamespace]: namespace } = annotations;
  if (name === undefined || namespace === undefined) return {};
  return { controllerPublishSecretRef: { name, namespace }, controllerExpandSecretRef: { name, namespace } };
}
