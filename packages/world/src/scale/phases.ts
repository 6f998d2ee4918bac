// SPDX-License-Identifier: Apache-2.0
/** The phases of a run at scale, and what is measured of each. */
import {
  type KubeObject,
  nodes,
  noMetrics,
  type NumberOptions,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Resource,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { refOf } from '../happenings/admins.ts';
import { namespace, nodeName } from '../names.ts';
import { calmShape, type Shape } from '../story.ts';
import { createWorld, type World } from '../world.ts';
import { measureTaskCpu } from './task-cpu.ts';

export interface Size {
  readonly claims: number;
  readonly nodes: number;
}

export interface Phase {
  readonly name: string;
  /** Virtual time until everything was done. */
  readonly seconds: number;
  /** Calls that our programs made to the driver. */
  readonly calls: number;
  /** Requests that our programs sent towards the API server, those for leases left out. */
  readonly requests: number;
  /** CPU of the tasks of our programs, without garbage collection. */
  readonly cpuMs: number;
  /** The most keys that a queue held, for the longest queues. */
  readonly depths: readonly (readonly [queue: string, most: number])[];
  readonly memoryMiB: number;
}

const ours = /^(csi-|snapshot-controller)/;
const stepMs = 1_000;
const limitMs = 7_200_000;
/** Tasks between two looks at the queues. */
const sampleEvery = 50;
const outageMs = 600_000;

/** A part of the claims has a pod, a snapshot, or grows. */
const parts = { pods: 0.5, snapshots: 0.1, growth: 0.1, drained: 0.1 } as const;

export async function measurePhases({ claims, nodes: nodeCount }: Size): Promise<readonly Phase[]> {
  const shape: Shape = { ...calmShape, nodes: nodeCount, limits: 'wide' };
  const depthSources: (() => ReturnType<NonNullable<NumberOptions['collect']>>)[] = [];
  let requests = 0;
  const world = createWorld(
    { seed: 1, shape, happenings: [] },
    {
      args: ['--http-endpoint=127.0.0.1:0'],
      isChecked: false,
      striker: {
        operations: [],
        atRequest: ({ name }, { resource }) => {
          if (ours.test(name) && resource !== 'leases') requests += 1;
          return undefined;
        },
        atCalls: (_process, channel) => channel,
      },
      openMetrics: async () => ({
        ...noMetrics,
        gauge: (options) => {
          if (options.name === 'workqueue_depth' && options.collect !== undefined) depthSources.push(options.collect);
          return noMetrics.gauge(options);
        },
        text: async () => '',
      }),
    },
  );
  const { schedule, sim, client, drivers } = world;
  const [{ model }] = drivers;
  const list = <T extends KubeObject>(resource: Resource<T>): readonly T[] => sim.server.objects.list(resource);
  const phases: Phase[] = [];

  async function phase(name: string, begin: () => void, isOver: () => boolean): Promise<void> {
    const fromMs = schedule.elapsedMs;
    const depths = new Map<string, number>();
    const cpu = measureTaskCpu();
    model.forgetCalls();
    requests = 0;
    const afterTask = (): void => {
      if (ours.test(schedule.running ?? '')) cpu.count();
      if (schedule.tasks % sampleEvery === 0) sampleDepths();
      cpu.begin();
    };
    const sampleDepths = (): void => {
      for (const { labels, value } of depthSources.flatMap((collect) => [...collect()])) {
        const queue = labels['name'] ?? '';
        depths.set(queue, Math.max(depths.get(queue) ?? 0, value));
      }
    };
    begin();
    for (let isDone = false; !isDone && schedule.elapsedMs - fromMs < limitMs; isDone = isOver()) {
      cpu.begin();
      await schedule.advanceTo(schedule.elapsedMs + stepMs, afterTask);
    }
    const cpuMs = cpu.totalMs();
    process.stderr.write(`${claims} claims, ${name}: ${Math.round(cpuMs)} ms of CPU, ${schedule.tasks} tasks\n`);
    if (!isOver()) throw new Error(`${name}: not over after ${limitMs / 1000} s`);
    phases.push({
      name,
      seconds: (schedule.elapsedMs - fromMs) / 1000,
      calls: model.calls.length,
      requests,
      cpuMs,
      depths: [...depths]
        .filter(([, most]) => most > 0)
        .toSorted((a, b) => b[1] - a[1])
        .slice(0, 3),
      memoryMiB: Math.round(process.memoryUsage().rss / 2 ** 20),
    });
  }

  const numbers = Array.from({ length: claims }, (_, index) => index);
  const some = (part: number): readonly number[] => numbers.slice(0, Math.floor(claims * part));
  await phase('start', noop, () => schedule.elapsedMs >= 20_000);
  await phase(
    'claims are created',
    () => numbers.forEach((number) => void createClaim(world, number)),
    () => list(persistentVolumeClaims).filter(({ status }) => status?.phase === 'Bound').length === claims,
  );
  const podCount = some(parts.pods).length;
  const areRunning = (): boolean =>
    list(pods).length === podCount &&
    list(pods).filter(({ status }) => status?.phase === 'Running').length === podCount &&
    list(volumeAttachments).filter(({ status }) => status?.attached === true).length === podCount;
  await phase('pods start', () => some(parts.pods).forEach((number) => void createPod(world, number, 0)), areRunning);
  await phase(
    'snapshots are taken',
    () => some(parts.snapshots).forEach((number) => void createSnapshot(world, number)),
    () =>
      list(volumeSnapshots).filter(({ status }) => status?.readyToUse === true).length === some(parts.snapshots).length,
  );
  const grown = some(parts.growth).length;
  await phase(
    'claims grow',
    () => some(parts.growth).forEach((number) => void growClaim(world, number)),
    () => list(persistentVolumeClaims).filter(({ status }) => status?.capacity?.['storage'] === '2Gi').length === grown,
  );
  const untilMs = (): number => schedule.elapsedMs + outageMs;
  let backMs = 0;
  await phase(
    'a node pool is drained, the API server is away for ten minutes',
    () => {
      backMs = untilMs();
      drain(world, Math.ceil(nodeCount * parts.drained));
      sim.server.endWatches('broken');
      const fault = { kind: 'break', point: 'before', failure: 'refused' } as const;
      world.network.open({ untilMs: backMs, who: '', what: '*', chance: 1, fault });
    },
    () => schedule.elapsedMs > backMs && areRunning(),
  );
  await phase(
    'everything is deleted',
    () => {
      for (const resource of [pods, volumeSnapshots, persistentVolumeClaims] as readonly Resource[]) {
        for (const object of list(resource)) void client.delete(resource, refOf(object));
      }
    },
    () =>
      (
        [persistentVolumeClaims, persistentVolumes, volumeAttachments, volumeSnapshotContents] as readonly Resource[]
      ).every((resource) => list(resource).length === 0) && model.volumes().length === 0,
  );
  return phases;
}

const noop = (): void => undefined;

function createClaim({ client }: World, number: number): Promise<unknown> {
  return client.create(persistentVolumeClaims, {
    metadata: { namespace, name: `claim-${number}` },
    spec: {
      storageClassName: 'fast',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
    },
  });
}

function createPod({ client }: World, number: number, replica: number): Promise<unknown> {
  return client.create(pods, {
    metadata: { namespace, name: `pod-${number}-${replica}` },
    spec: {
      containers: [{ name: 'app', image: 'app' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: `claim-${number}` } }],
    },
  });
}

function createSnapshot({ client }: World, number: number): Promise<unknown> {
  return client.create(volumeSnapshots, {
    metadata: { namespace, name: `snap-${number}` },
    spec: { source: { persistentVolumeClaimName: `claim-${number}` } },
  });
}

function growClaim({ client }: World, number: number): Promise<unknown> {
  const body = { spec: { resources: { requests: { storage: '2Gi' } } } };
  const target = { resource: persistentVolumeClaims, ref: { namespace, name: `claim-${number}` } };
  return client.patch(target, { type: 'merge', body });
}

/** The pods of the nodes are deleted, and others take their place elsewhere. */
function drain(world: World, count: number): void {
  const names = new Set(Array.from({ length: count }, (_, number) => nodeName(number)));
  for (const name of names) {
    world.sim.server.objects.change(nodes, { name }, (node) => ({
      ...node,
      spec: { ...node.spec, unschedulable: true },
    }));
  }
  for (const pod of world.sim.server.objects.list(pods)) {
    if (!names.has(pod.spec?.nodeName ?? '')) continue;
    const [, number = '0'] = pod.metadata?.name?.split('-') ?? [];
    void world.client.delete(pods, refOf(pod)).then(() => createPod(world, Number(number), 1));
  }
}
