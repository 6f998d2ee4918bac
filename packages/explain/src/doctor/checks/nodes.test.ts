// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { csiNodes } from '@csi-sidecars/runtime';
import { add, ago, attachment, csiNode, event, claim, node } from '../../../testing/cluster.ts';
import { nodePod, nodeSet, registeredNode, zone } from '../../../testing/workloads.ts';
import { installation, leaseOf } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';

const labels = { [zone]: 'z1' };
const conditions = (status: string, lastTransitionTime: string, fields: object = {}) => ({
  conditions: [{ type: 'Ready', status, lastTransitionTime, ...fields }],
});
const attached = (name: string, nodeName: string) => attachment(name, { node: nodeName, status: { attached: true } });
const waiting = {
  phase: 'Pending',
  conditions: [{ type: 'Ready', status: 'False' }],
  containerStatuses: [{ name: 'driver', state: { waiting: { reason: 'ImagePullBackOff' } } }],
};
const oneOfTwo = nodeSet({ status: { desiredNumberScheduled: 2, numberReady: 1, updatedNumberScheduled: 2 } });
const failed = (message: string) => ({
  reason: 'ProvisioningFailed',
  message: `rpc error: code = Unavailable desc = ${message}`,
});

const cases: readonly Case[] = [
  {
    given: 'a node that does not know the driver, whose pod is ready',
    change: (host) => add(host, csiNode('node-b', [])),
    found: ['error node-1'],
  },
  {
    given: 'a node that does not know the driver, whose pod is not ready',
    change: (host) => add(host, csiNode('node-b', []), nodePod('node-b', { status: waiting }), oneOfTwo),
    found: ['error node-2'],
  },
  {
    given: 'a pod of the driver that is not ready on a node that is away',
    change: (host) => {
      const status = conditions('Unknown', ago(host, 60));
      add(host, nodePod('node-b', { status: waiting }), oneOfTwo, node('node-b', { metadata: { labels }, status }));
    },
    found: [],
  },
  {
    given: '[explain#104] a driver in another folder of kubelet than all others',
    change: (host) => {
      add(
        host,
        nodeSet({ root: '/var/data/kubelet' }),
        nodeSet({ name: 'other', of: 'b.example.com', namespace: 'other' }),
      );
    },
    found: ['error node-3'],
  },
  {
    given: '[explain#104] all drivers in one folder, which is not the usual one',
    change: (host) => {
      const root = '/var/data/kubelet';
      add(host, nodeSet({ root }), nodeSet({ name: 'other', of: 'b.example.com', namespace: 'other', root }));
    },
    found: [],
  },
  {
    given: 'two drivers in the usual folder',
    change: (host) => add(host, nodeSet({ name: 'other', of: 'b.example.com', namespace: 'other' })),
    found: [],
  },
  {
    given: 'a registrar whose two folders are of different roots',
    change: (host) => add(host, nodeSet({ registryRoot: '/var/data/kubelet' })),
    found: ['error node-3'],
  },
  {
    given: 'nine of ten volumes of a node',
    change: (host) => {
      add(host, registeredNode('node-a', { count: 10 }));
      for (let index = 0; index < 9; index += 1) add(host, attached(`va-${index}`, 'node-a'));
    },
    found: ['warn node-4'],
  },
  {
    given: 'eight of ten volumes of a node',
    change: (host) => {
      add(host, registeredNode('node-a', { count: 10 }));
      for (let index = 0; index < 8; index += 1) add(host, attached(`va-${index}`, 'node-a'));
    },
    found: [],
  },
  {
    given: 'a volume that is attached to a node that does not exist',
    change: (host) => add(host, attached('va', 'gone')),
    found: ['error node-6'],
  },
  {
    given: 'a volume that is attached to a node that has not been ready for ten minutes',
    change: (host) => {
      add(
        host,
        attached('va', 'node-b'),
        node('node-b', { metadata: { labels }, status: conditions('Unknown', ago(host, 600)) }),
      );
    },
    found: ['error node-6'],
  },
  {
    given: 'a volume that is attached to a node that has not been ready for a minute',
    change: (host) => {
      add(
        host,
        attached('va', 'node-b'),
        node('node-b', { metadata: { labels }, status: conditions('Unknown', ago(host, 60)) }),
      );
    },
    found: [],
  },
  {
    given: 'failures because of too many calls',
    change: (host) => {
      const times = { first: ago(host, 900), last: ago(host, 60) };
      add(host, event(claim('data'), { ...failed('RequestLimitExceeded: slow down'), ...times }));
    },
    found: ['warn load-1'],
  },
  {
    given: 'other failures',
    change: (host) => {
      const times = { first: ago(host, 900), last: ago(host, 60) };
      add(host, event(claim('data'), { ...failed('no route to host'), ...times }));
    },
    found: [],
  },
  {
    given: 'failures because of too many calls, two hours ago',
    change: (host) => {
      const times = { first: ago(host, 9_000), last: ago(host, 7_200) };
      add(host, event(claim('data'), { ...failed('HTTP 429'), ...times }));
    },
    found: [],
  },
  {
    given: 'a leader whose clock is a minute ahead',
    change: (host) => add(host, leaseOf(host, 'csi-resizer', -60)),
    found: ['warn clock-1'],
  },
  {
    given: 'a leader whose clock is six seconds ahead',
    change: (host) => add(host, leaseOf(host, 'csi-resizer', -6)),
    found: ['info clock-1'],
  },
  {
    given: 'a node whose clock is a minute ahead',
    change: (host) => {
      const status = conditions('True', ago(host, 600), { lastHeartbeatTime: ago(host, -60) });
      add(host, node('node-b', { metadata: { labels }, status }));
    },
    found: ['info clock-1'],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});

it('given --node, when examined, then other nodes are not looked at', async () => {
  const host = installation();
  add(host, csiNode('node-b', []));
  expect((await doctor(host, ['--only=node', '--node=node-a'])).found).toEqual([]);
  expect((await doctor(host, ['--only=node', '--node=node-b'])).found).toEqual(['error node-1']);
});

it('given CSINodes that may not be read, when examined, then nobody is said to be unregistered', async () => {
  const rules = [
    { apiGroups: ['', 'apps', 'coordination.k8s.io'], resources: ['*'], verbs: ['*'] },
    { apiGroups: ['storage.k8s.io'], resources: ['csidrivers', 'volumeattachments'], verbs: ['*'] },
  ];
  const { code, found, document } = await doctor(installation({ rules }), ['--only=node']);
  expect([code, found]).toEqual([5, []]);
  expect(document.notRun.map(({ id }) => id)).toEqual(['node-1', 'node-4', 'node-5']);
  expect(document.notRun[0]?.missing[0]).toMatchObject({
    verb: 'list',
    resource: csiNodes.plural,
    because: 'forbidden',
  });
});
