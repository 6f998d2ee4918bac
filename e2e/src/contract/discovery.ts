// SPDX-License-Identifier: Apache-2.0
/** Discovery: what clients learn about the server before they use it. */
import assert from 'node:assert/strict';
import type { KubeObject, Resource } from '@csi-sidecars/runtime';
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

interface Review extends KubeObject {
  readonly spec: object;
  readonly status?: {
    readonly resourceRules?: readonly { readonly verbs: readonly string[]; readonly resources?: readonly string[] }[];
    readonly incomplete?: boolean;
    readonly allowed?: boolean;
  };
}
const reviewOf = (kind: string): Resource<Review> => ({
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: `${kind.toLowerCase()}s`,
  kind,
  namespaced: false,
});
const rulesReviews = reviewOf('SelfSubjectRulesReview');
const accessReviews = reviewOf('SelfSubjectAccessReview');

export const discoveryChecks: readonly ContractCheck[] = [
  {
    name: 'an account is shown what it may do cluster-wide, for a namespace that does not exist',
    async run(client) {
      const { status } = await client.create(rulesReviews, { spec: { namespace: 'there-is-no-such-namespace' } });
      assert.equal(status?.incomplete, false);
      assert.ok(status.resourceRules?.some(({ verbs, resources }) => verbs.includes('*') && resources?.includes('*')));
      await refused(client.create(rulesReviews, { spec: {} }), { status: 400, reason: 'BadRequest' });
      const resourceAttributes = { verb: 'list', group: '', resource: 'persistentvolumeclaims' };
      const access = await client.create(accessReviews, { spec: { resourceAttributes } });
      assert.equal(access.status?.allowed, true);
    },
  },
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
