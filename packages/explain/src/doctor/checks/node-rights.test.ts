// SPDX-License-Identifier: Apache-2.0
/** Accounts of nodes that may do too much. */
import type { Pod } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { add } from '../../../testing/cluster.ts';
import { nodePod, nodeSet, sidecar } from '../../../testing/workloads.ts';
import { bindingOf, clusterRole, installation } from '../../../testing/installation.ts';
import { type Case, doctor, judged, titleOf } from '../../../testing/examining.ts';

const withToken = (audience?: string): Pod => {
  const pod = nodePod('node-a');
  const token = { path: 'token', ...(audience !== undefined && { audience }) };
  const volumes = [{ name: 'kube-api-access-x', projected: { sources: [{ serviceAccountToken: token }] } }];
  return { ...pod, spec: { ...pod.spec!, volumes } };
};
const boundToNodes = (verbs: readonly string[], resources: readonly string[]) => [
  clusterRole('node-role', [{ apiGroups: [''], resources: [...resources], verbs: [...verbs] }]),
  bindingOf('node-role', 'nodes'),
];

const cases: readonly Case[] = [
  {
    given: 'a token on every node that may change volumes',
    change: (host) => add(host, withToken(), ...boundToNodes(['get', 'patch'], ['nodes', 'persistentvolumes'])),
    found: ['warn rights-11'],
    seen: ['kube-api-access-x', 'patch persistentvolumes'],
  },
  {
    given: 'a token on every node that may read volumes',
    change: (host) => add(host, withToken(), ...boundToNodes(['get', 'list'], ['nodes', 'persistentvolumes'])),
    found: [],
  },
  {
    given: 'pods on nodes without a token, and a role that may change volumes',
    change: (host) => add(host, ...boundToNodes(['patch'], ['persistentvolumes'])),
    found: [],
  },
  {
    given: 'pods on nodes with a token for another service, and a role that may change volumes',
    change: (host) => add(host, withToken('sts.example.com'), ...boundToNodes(['patch'], ['persistentvolumes'])),
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, each) => {
  expect(await judged(each)).toEqual({ found: each.found.toSorted(), unseen: [], notRun: [] });
});

it('given a DaemonSet with csi-provisioner in it, when examined, then its token is for that', async () => {
  const host = installation();
  const set = nodeSet();
  const { template } = (set as { readonly spec?: { readonly template?: { readonly spec?: object } } }).spec ?? {};
  const containers = [
    ...((template?.spec as Pod['spec'])?.containers ?? []),
    sidecar('csi-provisioner', ['--node-deployment']),
  ];
  add(host, withToken(), ...boundToNodes(['patch'], ['persistentvolumes']));
  add(host, { ...set, spec: { template: { spec: { ...template?.spec, containers } } } });
  expect((await doctor(host, ['--only=rights-11'])).found).toEqual([]);
});
