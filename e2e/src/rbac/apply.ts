// SPDX-License-Identifier: Apache-2.0
/** Puts objects into a cluster by server-side apply: the same call installs and updates. */
import { type ApiClient, type KubeObject, type Resource } from '@csi-sidecars/runtime';
import { deleteIfThere } from '../delete-if-there.ts';
import type { RbacObject } from './profiles.ts';

interface Typed extends KubeObject {
  readonly kind: string;
}

interface Named extends Typed {
  readonly metadata: NonNullable<KubeObject['metadata']> & { readonly name: string };
}

const fieldManager = 'csi-sidecars-e2e';

export async function applyRbac(api: ApiClient, objects: readonly RbacObject[]): Promise<void> {
  await applyObjects(api, objects);
}

export async function applyObjects(api: ApiClient, objects: readonly Named[]): Promise<void> {
  for (const object of objects) {
    const { namespace, name } = object.metadata;
    const resource = resourceOf(object);
    await api.patch({ resource, ref: { namespace, name } }, { type: 'apply', body: object, fieldManager, force: true });
  }
}

/** Takes away what binds an account cluster-wide; the rest goes with its namespace, and roles by themselves grant nothing. */
export async function removeBindings(api: ApiClient, objects: readonly RbacObject[]): Promise<void> {
  for (const object of objects) {
    if (object.kind !== 'ClusterRoleBinding') continue;
    await deleteIfThere(api, resourceOf(object), { name: object.metadata.name });
  }
}

/** The rest goes with its namespace. */
export async function removeClusterWide(api: ApiClient, objects: readonly Named[]): Promise<void> {
  for (const object of objects) {
    const resource = resourceOf(object);
    if (!resource.namespaced) await deleteIfThere(api, resource, { name: object.metadata.name });
  }
}

/** Namespaced if the object names a namespace. */
export function resourceOf({ kind, apiVersion, metadata }: Typed): Resource {
  const [group, version] = apiVersion?.includes('/') === true ? apiVersion.split('/') : ['', apiVersion];
  return {
    group: group ?? '',
    version: version ?? 'v1',
    plural: `${kind.toLowerCase()}s`,
    kind,
    namespaced: metadata?.namespace !== undefined,
  };
}
