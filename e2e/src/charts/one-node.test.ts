// SPDX-License-Identifier: Apache-2.0
/** Two replicas in the network of a cluster's only node. No kubelet runs here: the test reports in its place that pods run. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { type ApiObject, apply, get, helm, kubectl, list, tryKubectl } from './commands.ts';
import { chartFolder } from './chart-copy.ts';
import { createNamespace, emptyCluster } from './releases.ts';

const chart = chartFolder('snapshot-controller');

afterEach(async () => {
  await kubectl(['delete', 'node', 'only', '--ignore-not-found']);
  await emptyCluster();
});

async function until<T>(what: string, check: () => Promise<T | undefined | false>): Promise<T> {
  for (let poll = 0; poll < 100; poll += 1) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    await pause(200);
  }
  throw new Error(`not within 20 s: ${what}`);
}

async function createNode(): Promise<void> {
  const name = 'only';
  await apply({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name } },
  });
  const room = { cpu: '4', memory: '8Gi', pods: '100' };
  const conditions = [
    { type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString(), reason: 'Test', message: '' },
  ];
  const status = JSON.stringify({ status: { capacity: room, allocatable: room, conditions } });
  await kubectl(['patch', 'node', name, '--subresource=status', '--type=merge', `--patch=${status}`]);
}

async function reportRunning(pod: ApiObject): Promise<void> {
  const conditions = ['Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: new Date().toISOString(),
  }));
  const status = JSON.stringify({
    status: { phase: 'Running', conditions: [...(pod['status'].conditions as object[]), ...conditions] },
  });
  await kubectl([
    'patch',
    'pod',
    pod.metadata.name,
    `--namespace=${pod.metadata.namespace}`,
    '--subresource=status',
    '--type=merge',
    `--patch=${status}`,
  ]);
}

const isPlaced = (pod: ApiObject): boolean => pod['spec'].nodeName !== undefined;
const isOf =
  (level: number) =>
  (pod: ApiObject): boolean =>
    (pod['spec'].containers[0].args as string[]).includes(`--v=${level}`);

it('[packaging#37] given two replicas that exclude each other and one node, then the second is pending and may be evicted; an update needs Recreate, since with maxUnavailable 1 the new pod waits for the place of the old one', async () => {
  const namespace = await createNamespace('privileged');
  await createNode();
  const pods = (): Promise<readonly ApiObject[]> => list('pods', `--namespace=${namespace}`);
  const values = [
    `--namespace=${namespace}`,
    '--set=controller.hostNetwork=true,controller.antiAffinity=hard,controller.minReadySeconds=0',
  ];
  await helm(['install', 'snapshot-controller', chart, ...values]);
  const [first] = await until('one pod has a place, the other one has none', async () => {
    const all = await pods();
    return all.length === 2 && all.filter(isPlaced).length === 1 && all.toSorted((a) => (isPlaced(a) ? -1 : 1));
  });
  await reportRunning(first!);
  await until('the budget counts the pod that runs', async () => {
    const { status } = await get('poddisruptionbudget', 'snapshot-controller', namespace);
    return status.expectedPods === 2 && status.currentHealthy === 1;
  });
  const evict = (pod: ApiObject): ReturnType<typeof tryKubectl> => {
    const { name } = pod.metadata;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
    return tryKubectl(['create', `--raw=${path}`, '--filename=-'], { input: JSON.stringify(eviction) });
  };
  // AlwaysAllow: a pod that does not run does not count, so that it cannot block a drain.
  const pending = (await pods()).find((pod) => !isPlaced(pod))!;
  expect(await evict(pending)).toMatchObject({ code: 0 });
  expect((await evict(first!)).stderr).toMatch(/disruption budget/);

  await helm(['upgrade', 'snapshot-controller', chart, ...values, '--set=controller.logLevel=3']);
  await until('a pod of the new revision', async () => (await pods()).some(isOf(3)));
  await pause(3_000);
  const stuck = await pods();
  expect(stuck.filter(isPlaced).map(({ metadata }) => metadata.name)).toEqual([first!.metadata.name]);

  const recreate = ['--set=controller.strategy.type=Recreate,controller.strategy.rollingUpdate=null'];
  await helm(['upgrade', 'snapshot-controller', chart, ...values, '--set=controller.logLevel=4', ...recreate]);
  // No kubelet lets go the old pod.
  await until('the old pod is to end', async () =>
    (await pods()).find(({ metadata }) => metadata.name === first!.metadata.name && 'deletionTimestamp' in metadata),
  );
  await kubectl(['delete', 'pod', first!.metadata.name, `--namespace=${namespace}`, '--force', '--grace-period=0']);
  await until('a pod of the new revision has the place', async () =>
    (await pods()).some((pod) => isOf(4)(pod) && isPlaced(pod)),
  );
});
