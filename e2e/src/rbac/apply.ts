// SPDX-License-Identifier: Apache-2.0
/** Puts RBAC objects into a cluster by server-side apply: the same call installs and updates. */
import type { ApiClient, Resource } from '@csi-sidecars/runtime';
import type { RbacObject } from './profiles.ts';

const fieldManager = 'csi-sidecars-e2e';

export async function applyRbac(api: ApiClient, objects: readonly RbacObject[]): Promise<void> {
  for (const object of objects) {
    const { namespace, name } = object.metadata;
    const resource = resourceOf(object);
    await api.patch({ resource, ref: { namespace, name } }, { type: 'apply', body: object, fieldManager, force: true });
  }
}

/** Takes away what binds an account cluster-wide; the rest goes with its namespace, and roles by themselves grant nothing. */
export async function removeBindings(api: ApiClient, objects: readonly RbacObject[]): Promise<void> {
  for (const object of objects) {
    if (object.kind === 'ClusterRoleBinding') await api.delete(resourceOf(object), { name: object.metadata.name });
  }
}

function resourceOf({ kind, apiVersion, metadata }: RbacObject): Resource {
  const [group, version] = apiVersion?.includes('/') === true ? apiVersion.split('/') : ['', apiVersion];
  return {
    group: group ?? '',
    version: version ?? 'v1',
    plural: `${kind.toLowerCase()}s`,
    kind,
    namespaced: metadata.namespace !== undefined,
  };
}
