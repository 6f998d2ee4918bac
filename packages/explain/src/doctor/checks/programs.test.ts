// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { pods } from '@csi-sidecars/runtime';
import { add } from '../../../testing/cluster.ts';
import { ago } from '../../../testing/cluster.ts';
import { controllerPod, nodePod, nodeSet } from '../../../testing/workloads.ts';
import { installation } from '../../../testing/installation.ts';
import { type Case, doctor, titleOf } from '../../../testing/examining.ts';

const conditions = [{ type: 'Ready', status: 'True' }];
const container = (fields: object) => ({
  conditions,
  containerStatuses: [{ name: 'csi-resizer', restartCount: 0, ...fields }],
});
const looping = { state: { waiting: { reason: 'CrashLoopBackOff' } }, restartCount: 4 };
const ended = (finishedAt: string, fields: object = {}) => ({
  lastState: { terminated: { exitCode: 1, finishedAt, ...fields } },
});
const second = (spec: object = {}) => nodeSet({ name: 'node-plugin-2', spec });

const cases: readonly Case[] = [
  {
    given: 'a container in CrashLoopBackOff',
    change: (host) => add(host, controllerPod(container({ ...looping, ...ended(ago(host, 60), { exitCode: 2 }) }))),
    found: ['error pod-1'],
  },
  {
    given: 'a container that waits for its image',
    change: (host) => add(host, controllerPod(container({ state: { waiting: { reason: 'ContainerCreating' } } }))),
    found: [],
  },
  {
    given: 'a container that was killed at its memory limit',
    change: (host) =>
      add(
        host,
        controllerPod(container({ restartCount: 1, ...ended(ago(host, 60), { exitCode: 137, reason: 'OOMKilled' }) })),
      ),
    found: ['error pod-2'],
  },
  {
    given: 'a container that was killed at its memory limit again and again',
    change: (host) =>
      add(
        host,
        controllerPod(container({ ...looping, ...ended(ago(host, 60), { exitCode: 137, reason: 'OOMKilled' }) })),
      ),
    found: ['error pod-2'],
  },
  {
    given: 'seven restarts within a day',
    change: (host) => {
      const pod = controllerPod(container({ restartCount: 7, ...ended(ago(host, 600)) }));
      add(host, { ...pod, metadata: { ...pod.metadata, creationTimestamp: ago(host, 3_600) } });
    },
    found: ['warn pod-3'],
  },
  {
    given: 'seven restarts within a month',
    change: (host) => {
      const pod = controllerPod(container({ restartCount: 7, ...ended(ago(host, 600)) }));
      add(host, { ...pod, metadata: { ...pod.metadata, creationTimestamp: ago(host, 2_592_000) } });
    },
    found: [],
  },
  {
    given: 'two DaemonSets with a pod of the driver on one node',
    change: (host) => add(host, second(), nodePod('node-a', { set: 'node-plugin-2' })),
    found: ['warn pod-6'],
  },
  {
    given: 'two DaemonSets on different nodes',
    change: (host) => {
      host.server.objects.remove(pods, { namespace: 'storage', name: 'node-plugin-node-b' });
      add(host, second(), nodePod('node-b', { set: 'node-plugin-2' }));
    },
    found: [],
  },
  {
    given: 'a DaemonSet that starts the new pod first',
    change: (host) => add(host, nodeSet({ spec: { updateStrategy: { rollingUpdate: { maxSurge: 1 } } } })),
    found: ['warn pod-7'],
  },
  {
    given: 'a DaemonSet that ends the old pod first',
    change: (host) =>
      add(host, nodeSet({ spec: { updateStrategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } } })),
    found: [],
  },
  {
    given: 'a controller of which no pod is ready',
    change: (host) => add(host, controllerPod({ phase: 'Pending', conditions: [] })),
    found: ['error pod-8'],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});

it('given the texts of a container that ended, when examined, then they are in the finding, and the look is at its log', async () => {
  const host = installation();
  const message = 'panic: \u001B[31mno socket\n';
  add(host, controllerPod(container({ ...looping, ...ended(ago(host, 60), { message }) })));
  const [finding] = (await doctor(host, ['--only=pod-1'])).document.findings;
  expect(finding?.sentence).toContain('panic: ?[31mno socket');
  expect(finding?.driver).toBe('a.example.com');
  expect(finding?.look).toEqual([
    'kubectl',
    'logs',
    '-n',
    'storage',
    'controller-7d9-x',
    '-c',
    'csi-resizer',
    '--previous',
  ]);
});
