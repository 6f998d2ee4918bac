// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { authorities } from '../../../testing/authorities.ts';
import { crds } from '../../cluster/kinds.ts';
import { add } from '../../../testing/cluster.ts';
import { controller, driverContainer, programs, sidecar } from '../../../testing/workloads.ts';
import { crd, installation, snapshotControllerSet } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';

const group = 'groupsnapshot.storage.k8s.io';
const converted = (pem: string) => ({
  spec: {
    conversion: {
      strategy: 'Webhook',
      webhook: {
        clientConfig: {
          caBundle: Buffer.from(pem).toString('base64'),
          service: { namespace: 'storage', name: 'webhook' },
        },
      },
    },
  },
});
const endpoints = (isReady: boolean) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'webhook-1', namespace: 'storage', labels: { 'kubernetes.io/service-name': 'webhook' } },
  endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: isReady } }],
});
const withSnapshotter = (version: string) => {
  const image = `registry.k8s.io/sig-storage/csi-snapshotter:${version}`;
  const containers = programs.map((each) =>
    each === 'csi-snapshotter' ? sidecar(each, [], { image }) : sidecar(each),
  );
  return controller({ containers: [driverContainer, ...containers] });
};

const cases: readonly Case[] = [
  {
    given: 'a definition that is missing',
    change: (host) => host.server.objects.remove(crds, { name: 'volumesnapshotclasses.snapshot.storage.k8s.io' }),
    found: ['error crd-1'],
  },
  {
    given: '[explain#99] snapshots that are stored as v1beta1, which is not served',
    change: (host) => add(host, crd('volumesnapshots', { status: { storedVersions: ['v1beta1', 'v1'] } })),
    found: ['error crd-2'],
  },
  {
    given: 'snapshots whose v1 is served, and not stored',
    change: (host) => {
      const versions = [
        { name: 'v1', served: true, storage: false },
        { name: 'v1beta1', served: true, storage: true },
      ];
      add(host, crd('volumesnapshots', { spec: { versions }, status: { storedVersions: ['v1beta1'] } }));
    },
    found: ['error crd-2'],
  },
  {
    given: 'versions of which an old one is served and not stored any more',
    change: (host) => {
      const versions = [
        { name: 'v1', served: true, storage: true },
        { name: 'v1beta1', served: true, storage: false },
      ];
      add(host, crd('volumesnapshots', { spec: { versions } }));
    },
    found: [],
  },
  {
    given: '[explain#107] two snapshot-controllers in two namespaces',
    change: (host) => add(host, snapshotControllerSet({ namespace: 'kube-system' })),
    args: ['--only=crd'],
    found: ['error crd-4'],
  },
  {
    given: 'two snapshot-controllers that elect one of them',
    change: (host) => {
      const image = 'registry.k8s.io/sig-storage/snapshot-controller:v8.4.0';
      const args = ['--leader-election', '--leader-election-namespace=storage'];
      add(
        host,
        snapshotControllerSet({ namespace: 'kube-system', containers: [{ name: 'snapshot-controller', image, args }] }),
      );
    },
    args: ['--only=crd'],
    found: [],
  },
  {
    given: '[explain#99] a conversion webhook whose authority has expired',
    change: (host) => add(host, crd('volumegroupsnapshots', converted(authorities.expired), group), endpoints(true)),
    found: ['error crd-5'],
  },
  {
    given: 'a conversion webhook without endpoints that are ready',
    change: (host) => add(host, crd('volumegroupsnapshots', converted(authorities.valid), group), endpoints(false)),
    found: ['error crd-5'],
  },
  {
    given: 'a conversion webhook without an authority that can be read',
    change: (host) => add(host, crd('volumegroupsnapshots', converted('x'), group), endpoints(true)),
    found: ['error crd-5'],
  },
  {
    given: 'a conversion webhook that is answered',
    change: (host) => add(host, crd('volumegroupsnapshots', converted(authorities.valid), group), endpoints(true)),
    found: [],
  },
  {
    given: 'a csi-snapshotter two major versions behind',
    change: (host) => add(host, withSnapshotter('v6.3.0')),
    args: ['--only=crd'],
    found: ['warn crd-6'],
  },
  {
    given: 'a csi-snapshotter one major version behind',
    change: (host) => add(host, withSnapshotter('v7.0.1')),
    args: ['--only=crd'],
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});
