// SPDX-License-Identifier: Apache-2.0
/** Discovery: what clients learn about the server before they use it. */
import assert from 'node:assert/strict';
import { refused } from './expectations.ts';
import type { ContractCheck } from './check.ts';

interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly namespaced: boolean;
    readonly kind: string;
    readonly verbs: readonly string[];
  }[];
}

export const discoveryChecks: readonly ContractCheck[] = [
  {
    name: 'the groups and resources that volumes need are discovered',
    async run(client) {
      const core = (await client.raw('/api/v1')) as ResourceList;
      const storage = (await client.raw('/apis/storage.k8s.io/v1')) as ResourceList;
      assert.deepEqual([core.groupVersion, storage.groupVersion], ['v1', 'storage.k8s.io/v1']);
      const find = (list: ResourceList, name: string) => list.resources.find((resource) => resource.name === name);
      assert.equal(find(core, 'persistentvolumeclaims')?.namespaced, true);
      assert.ok(find(core, 'persistentvolumes/status')?.verbs.includes('patch'));
      for (const name of [
        'storageclasses',
        'volumeattachments',
        'volumeattributesclasses',
        'csinodes',
        'csidrivers',
        'csistoragecapacities',
      ]) {
        assert.ok(find(storage, name)?.verbs.includes('watch'), name);
      }
      const groups = (await client.raw('/apis')) as { readonly groups: readonly { readonly name: string }[] };
      const names = groups.groups.map(({ name }) => name);
      assert.ok(['storage.k8s.io', 'coordination.k8s.io'].every((name) => names.includes(name)));
    },
  },
  {
    name: 'the version is reported, and a group that is not served is 404 without a Status',
    async run(client) {
      const version = (await client.raw('/version')) as { readonly major: string; readonly gitVersion: string };
      assert.equal(version.major, '1');
      assert.match(version.gitVersion, /^v1\.\d+\.\d+/);
      await refused(client.raw('/apis/no.such.group/v1'), { status: 404, reason: '' });
    },
  },
];
