// SPDX-License-Identifier: Apache-2.0
/**
 * The owner of the capacity objects: some steps from the own Pod along the controller references. The object of the last step is not
 * read, so that a Pod below a StatefulSet needs no permission for StatefulSets.
 */
import {
  type ApiClient,
  controllerOf,
  type KubeObject,
  type OwnerReference,
  pods,
  type Resource,
} from '@csi-sidecars/runtime';

export interface OwnerQuestion {
  readonly namespace: string;
  readonly podName: string;
  /** Not negative. 0: the Pod itself. */
  readonly level: number;
}

interface Found {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export async function lookUpOwner(
  client: Pick<ApiClient, 'get' | 'raw'>,
  { namespace, podName, level }: OwnerQuestion,
  signal: AbortSignal,
): Promise<OwnerReference> {
  const pod = await client.get(pods, { namespace, name: podName }, { signal });
  let found: Found = { apiVersion: 'v1', kind: 'Pod', name: podName, uid: pod.metadata?.uid ?? '' };
  let object: KubeObject = pod;
  for (let step = 1; step <= level; step++) {
    if (step > 1) {
      const resource = await resourceOf(client, found, signal);
      object = await client.get(resource, { namespace, name: found.name }, { signal });
    }
    found = controllerOf(object) ?? noController(found, namespace);
  }
  const { apiVersion, kind, name, uid } = found;
  return { apiVersion, kind, name, uid, controller: true };
}

function noController({ apiVersion, kind, name }: Found, namespace: string): never {
  throw new Error(
    `${apiVersion}/${kind} "${name}" in namespace "${namespace}" has no controlling owner, cannot unwind the ownership further`,
  );
}

interface ServedResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Owners are of any kind: the server says under which plural it is found. */
async function resourceOf(
  client: Pick<ApiClient, 'raw'>,
  { apiVersion, kind }: Found,
  signal: AbortSignal,
): Promise<Resource> {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const list = (await client.raw(`/${slash < 0 ? 'api' : 'apis'}/${apiVersion}`, { signal })) as {
    readonly resources?: readonly ServedResource[];
  };
  const served = list.resources?.find((resource) => resource.kind === kind && !resource.name.includes('/'));
  if (served === undefined) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`);
  const version = apiVersion.slice(slash + 1);
  return { group, version, plural: served.name, kind, namespaced: served.namespaced };
}
