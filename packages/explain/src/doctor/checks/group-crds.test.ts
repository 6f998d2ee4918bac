// SPDX-License-Identifier: Apache-2.0
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { add } from '../../../testing/cluster.ts';
import {
  crd,
  installation,
  snapshotControllerContainer,
  snapshotControllerSet,
} from '../../../testing/installation.ts';
import { type Case, doctor, judged, titleOf } from '../../../testing/examining.ts';

const group = 'groupsnapshot.storage.k8s.io';
const version = (name: string, storage = false) => ({ name, served: true, storage });
const groupCrds = (versions: readonly object[], stored: readonly string[], conversion?: object) =>
  ['volumegroupsnapshots', 'volumegroupsnapshotcontents', 'volumegroupsnapshotclasses'].map((plural) =>
    crd(
      plural,
      { spec: { versions, ...(conversion !== undefined && { conversion }) }, status: { storedVersions: stored } },
      group,
    ),
  );
const asking = (tag: string, gates = 'CSIVolumeGroupSnapshot=true') => {
  const image = `registry.k8s.io/sig-storage/snapshot-controller:${tag}`;
  const container = snapshotControllerContainer([`--feature-gates=${gates}`]);
  return snapshotControllerSet({ containers: [{ ...container, image }] });
};
const only = ['--only=crd'];

const webhook = (failurePolicy: string, groups: readonly string[]) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'snapshots' },
  webhooks: [
    {
      name: 'validate.snapshot.storage.k8s.io',
      failurePolicy,
      clientConfig: { service: { namespace: 'storage', name: 'webhook' } },
      rules: [{ apiGroups: groups }],
    },
  ],
});
const slice = (ready: boolean) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'webhook-1', namespace: 'storage', labels: { 'kubernetes.io/service-name': 'webhook' } },
  endpoints: [{ conditions: { ready } }],
});
const groups = ['snapshot.storage.k8s.io'];

const cases: readonly Case[] = [
  {
    given: 'a snapshot-controller 8.6 with groups, and definitions of 8.4',
    change: (host) =>
      add(host, asking('v8.6.0'), ...groupCrds([version('v1beta1'), version('v1beta2', true)], ['v1beta2'])),
    args: only,
    found: ['warn crd-3'],
    seen: ['v1beta1, v1beta2', 'registry.k8s.io/sig-storage/snapshot-controller:v8.6.0'],
  },
  {
    given: 'a snapshot-controller 8.5 with groups, and the same definitions',
    change: (host) =>
      add(host, asking('v8.5.0'), ...groupCrds([version('v1beta1'), version('v1beta2', true)], ['v1beta2'])),
    args: only,
    found: [],
  },
  {
    given: 'a snapshot-controller 8.6 without groups, and the same definitions',
    change: (host) =>
      add(
        host,
        asking('v8.6.0', 'CSIVolumeGroupSnapshot=false'),
        ...groupCrds([version('v1beta2', true)], ['v1beta2']),
      ),
    args: only,
    found: [],
  },
  {
    given: 'a snapshot-controller 8.6 with groups, and no definitions of them',
    change: (host) => add(host, asking('v8.6.0')),
    args: only,
    found: [],
  },
  {
    given: 'groups that are stored as v1beta1, and no webhook that converts them',
    change: (host) => add(host, ...groupCrds([version('v1beta1'), version('v1beta2', true)], ['v1beta1', 'v1beta2'])),
    args: only,
    found: ['warn crd-3'],
    seen: ['v1beta1, v1beta2', '(none)'],
  },
  {
    given: 'groups that are stored as v1beta1, where no other version is served',
    change: (host) => add(host, ...groupCrds([version('v1beta1', true)], ['v1beta1'])),
    args: only,
    found: [],
  },
  {
    given: 'a webhook that has to accept snapshots, and no endpoint that answers',
    change: (host) => add(host, webhook('Fail', groups), slice(false)),
    found: ['error crd-7'],
    seen: ['Fail', '0'],
  },
  {
    given: 'a webhook that has to accept snapshots, and answers',
    change: (host) => add(host, webhook('Fail', groups), slice(true)),
    found: [],
  },
  {
    given: 'a webhook that may be passed over, and no endpoint that answers',
    change: (host) => add(host, webhook('Ignore', groups)),
    found: [],
  },
  {
    given: 'a webhook of other kinds, and no endpoint that answers',
    change: (host) => add(host, webhook('Fail', ['apps'])),
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, each) => {
  expect(await judged(each)).toEqual({ found: each.found.toSorted(), unseen: [], notRun: [] });
});

it('given endpoints that may not be listed, when examined, then crd-7 is not run, and nothing is concluded', async () => {
  const rules = [
    {
      apiGroups: ['', 'admissionregistration.k8s.io', 'storage.k8s.io', 'apps'],
      resources: ['*'],
      verbs: ['*'],
    },
  ];
  const host: FakeHost = installation({ rules });
  add(host, webhook('Fail', groups));
  const { code, found, document } = await doctor(host, ['--only=crd-7']);
  expect([code, found, document.notRun.map(({ id }) => id)]).toEqual([5, [], ['crd-7']]);
  expect(document.notRun[0]?.missing[0]).toMatchObject({ verb: 'list', resource: 'endpointslices' });
});
