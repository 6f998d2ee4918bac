// SPDX-License-Identifier: Apache-2.0
/** The names of all objects of a cluster, of whatever kind the API server has: to see that nothing is left of a release. */
import type { ScenarioContext } from './context.ts';

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

interface GroupList {
  readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
}

/** `Lease default/name`. Without Events, which the API server deletes when they are an hour old, and the Leases of kubelets. */
export async function allObjects({ api }: ScenarioContext): Promise<readonly string[]> {
  const { groups } = (await api.raw('/apis')) as GroupList;
  const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
  const names: string[] = [];
  for (const groupVersion of versions) {
    const path = groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`;
    const { resources } = (await api.raw(path)) as ResourceList;
    // Subresources cannot be listed, and states of components cannot be deleted.
    const kinds = resources.filter(
      ({ verbs, kind }) => verbs.includes('list') && verbs.includes('delete') && kind !== 'Event',
    );
    const [group, version] = groupVersion === 'v1' ? ['', 'v1'] : groupVersion.split('/');
    for (const { name: plural, kind, namespaced } of kinds) {
      const { items } = await api.list({ group: group!, version: version!, plural, kind, namespaced });
      names.push(
        ...items.map(({ metadata = {} }) => `${kind} ${[metadata.namespace, metadata.name].filter(Boolean).join('/')}`),
      );
    }
  }
  return names.filter((name) => !name.startsWith('Lease kube-node-lease/'));
}
