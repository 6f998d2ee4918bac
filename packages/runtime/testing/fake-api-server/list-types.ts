// SPDX-License-Identifier: Apache-2.0
/**
 * Which lists are keyed, which are sets; all others are atomic. By field name, which is unambiguous for the kinds this
 * server holds. Strategic merge and server-side apply share it.
 */
export const mergeKeys: { readonly [field: string]: string } = {
  ownerReferences: 'uid',
  conditions: 'type',
  drivers: 'name',
  addresses: 'type',
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  env: 'name',
  imagePullSecrets: 'name',
  secrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
};

export const setLists: ReadonlySet<string> = new Set(['finalizers']);
