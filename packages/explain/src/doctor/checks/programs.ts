// SPDX-License-Identifier: Apache-2.0
/** Part pod: whether the containers of the sidecars stay up. */
import type { Pod } from '@csi-sidecars/runtime';
import { createdMs, nameOf, timeOf } from '../../facts/objects.ts';
import {
  type Check,
  clusterCheck,
  driverCheck,
  factOf,
  type Judgement,
  type Problem,
  problem,
  textOf,
} from '../check.ts';
import { sidecarsIn, type WorkloadFacts } from '../readings/sidecars.ts';
import { podsOf } from '../readings/workloads.ts';
import { calledBy, describeOf, yamlOf } from './wording.ts';
import type { Readings } from '../readings/facts.ts';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

interface Place {
  readonly pod: Pod;
  readonly status: ContainerStatus;
  readonly name: ReturnType<typeof podName>;
  /** What a finding about the container is about. */
  readonly about: Pick<Problem, 'driver' | 'program' | 'objects'>;
}

function containersOf({ pods, workloads }: Pick<Readings, 'pods' | 'workloads'>): readonly Place[] {
  return pods.flatMap((pod) => {
    const own = workloads.all.find((workload) => podsOf([pod], workload).length > 0);
    const driver = own && workloads.driverOf(own);
    const name = podName(pod);
    return (pod.status?.containerStatuses ?? []).map((status) => ({
      pod,
      status,
      name,
      about: { driver, program: programOf(pod, status), objects: [name] },
    }));
  });
}

function podName(pod: Pod): { readonly kind: string; readonly namespace: string | undefined; readonly name: string } {
  return { kind: 'Pod', namespace: pod.metadata?.namespace, name: nameOf(pod) };
}

function programOf(pod: Pod, { name }: ContainerStatus): Problem['program'] {
  const container = pod.spec?.containers.find((each) => each.name === name);
  return container === undefined ? undefined : sidecarsIn(container)[0]?.program;
}

/** What ended it last. */
function endOf({ lastState, state }: ContainerStatus) {
  return lastState?.terminated ?? state?.terminated;
}

const meanings: Readonly<Record<number, string>> = {
  1: 'the program gave up: its last lines of log say why',
  2: 'its command line is wrong',
  137: 'it was killed',
};

const looping: Check = clusterCheck({
  id: 'pod-1',
  severity: 'error',
  wrong: 'a container beside a driver is in CrashLoopBackOff',
  mend: 'what the last lines of its log say',
  causes: ['pod-2'],
  reads: ['pods', 'workloads'],
  judge: (read) =>
    containersOf(read).flatMap(({ status, name, about }): readonly Judgement[] => {
      if (status.state?.waiting?.reason !== 'CrashLoopBackOff') return [];
      const ended = endOf(status);
      const code = ended === undefined ? '' : ` with exit code ${ended.exitCode}`;
      const meaning = ended === undefined ? undefined : meanings[ended.exitCode];
      const message = ended?.message?.trim() ?? '';
      return [
        problem(
          `container ${status.name} of pod ${name.namespace}/${name.name} ends again and again${code}${meaning === undefined ? '' : ` (${meaning})`}${message === '' ? '' : `: ${message}`}`,
          {
            ...about,
            evidence: [
              factOf(textOf(name), `state of container ${status.name}`, 'CrashLoopBackOff'),
              factOf(textOf(name), `restartCount of container ${status.name}`, status.restartCount),
            ],
            look: logOf(name, status.name),
          },
        ),
      ];
    }),
});

function logOf(name: ReturnType<typeof podName>, container: string): readonly string[] | undefined {
  const argv = describeOf(name);
  if (argv === undefined || !/^[a-z0-9.-]+$/.test(container)) return argv;
  return ['kubectl', 'logs', '-n', name.namespace ?? 'default', name.name, '-c', container, '--previous'];
}

const killed: Check = clusterCheck({
  id: 'pod-2',
  severity: 'error',
  wrong: 'a container beside a driver was killed because its memory limit is too low',
  mend: 'raise the limit',
  reads: ['pods', 'workloads'],
  judge: (read) =>
    containersOf(read).flatMap(({ pod, status, name, about }): readonly Judgement[] => {
      const ended = endOf(status);
      if (ended?.reason !== 'OOMKilled') return [];
      const limits = pod.spec?.containers.find((each) => each.name === status.name)?.resources?.limits;
      const limit = limits?.['memory'];
      return [
        problem(
          `container ${status.name} of pod ${name.namespace}/${name.name} was killed at its memory limit of ${limit ?? 'the node'}`,
          {
            ...about,
            evidence: [
              factOf(
                textOf(name),
                `lastState of container ${status.name}`,
                `OOMKilled at ${ended.finishedAt ?? 'a time that is not known'}`,
              ),
              factOf(textOf(name), `resources.limits.memory of container ${status.name}`, limit),
            ],
            look: describeOf(name),
          },
        ),
      ];
    }),
});

const dayMs = 86_400_000;
const manyRestarts = 5;

const restarting: Check = clusterCheck({
  id: 'pod-3',
  severity: 'warn',
  wrong: 'a container beside a driver has restarted more than five times a day, the last time within a day',
  mend: 'what the last lines of its log say',
  causes: ['pod-1', 'pod-2'],
  reads: ['pods', 'workloads'],
  judge: (read, { nowMs }) =>
    containersOf(read).flatMap(({ pod, status, name, about }): readonly Judgement[] => {
      const endedMs = timeOf(endOf(status)?.finishedAt);
      const ageDays = Math.max(1, (nowMs - (createdMs(pod) ?? nowMs)) / dayMs);
      if (endedMs === undefined || nowMs - endedMs > dayMs || status.restartCount / ageDays <= manyRestarts) return [];
      return [
        problem(
          `container ${status.name} of pod ${name.namespace}/${name.name} has restarted ${status.restartCount} times`,
          {
            ...about,
            evidence: [
              factOf(textOf(name), `restartCount of container ${status.name}`, status.restartCount),
              factOf(textOf(name), 'metadata.creationTimestamp', pod.metadata?.creationTimestamp),
            ],
            look: logOf(name, status.name),
          },
        ),
      ];
    }),
});

const doubled: Check = driverCheck({
  id: 'pod-6',
  severity: 'warn',
  wrong: 'two DaemonSets register the driver on one node',
  mend: 'give them node selectors that exclude each other',
  reads: ['workloads', 'pods'],
  judge: (driver, { workloads, pods }) => {
    const sets = workloads
      .of(driver.name)
      .filter(({ object, registrar }) => object.kind === 'DaemonSet' && registrar !== undefined);
    const onNodes = new Map<string, Set<WorkloadFacts>>();
    for (const set of sets)
      for (const { spec } of podsOf(pods, set)) {
        const node = spec?.nodeName ?? '';
        if (node !== '') onNodes.set(node, (onNodes.get(node) ?? new Set()).add(set));
      }
    const twice = [...onNodes].filter(([, both]) => both.size > 1);
    const [first] = twice;
    if (first === undefined) return [];
    const [node, both] = first;
    const [one, other] = [...both];
    if (one === undefined || other === undefined) return [];
    return [
      problem(`${calledBy(one)} and ${calledBy(other)} both register ${driver.name} on node ${node}`, {
        objects: twice.map(([name]) => ({ kind: 'Node', name })),
        evidence: [factOf(calledBy(one), 'has a pod on', node), factOf(calledBy(other), 'has a pod on', node)],
        look: yamlOf(one.object),
      }),
    ];
  },
});

const surging: Check = driverCheck({
  id: 'pod-7',
  severity: 'warn',
  wrong: 'a DaemonSet that registers a driver starts the new pod before the old one has ended',
  mend: 'set maxSurge to 0',
  reads: ['workloads'],
  judge: (driver, { workloads }) =>
    workloads
      .of(driver.name)
      .filter(
        ({ object, registrar, maxSurge = 0 }) =>
          object.kind === 'DaemonSet' && registrar !== undefined && maxSurge !== 0 && maxSurge !== '0%',
      )
      .map((workload) =>
        problem(`while ${calledBy(workload)} is rolled out, two pods of ${driver.name} register on one node`, {
          objects: [workload.object],
          evidence: [
            factOf(calledBy(workload), 'spec.updateStrategy.rollingUpdate.maxSurge', workload.maxSurge),
            factOf(calledBy(workload), 'container that registers', workload.registrar?.name),
          ],
          look: yamlOf(workload.object),
        }),
      ),
});

const notReady: Check = clusterCheck({
  id: 'pod-8',
  severity: 'error',
  wrong: 'no pod of a controller is ready',
  mend: 'what its events say: quota, priority class, Pod Security, image',
  causes: ['pod-1', 'pod-2'],
  reads: ['workloads', 'pods'],
  judge: ({ workloads, pods }, { nowMs }) =>
    workloads.all.flatMap((workload): readonly Judgement[] => {
      const { object, sidecars, replicas } = workload;
      const isController = object.kind !== 'DaemonSet' && sidecars.length > 0;
      const isYoung = workload.createdMs !== undefined && nowMs - workload.createdMs < startMs;
      if (!isController || replicas === 0 || isYoung) return [];
      const own = podsOf(pods, workload);
      if (own.some(isReady)) return [];
      return [
        problem(`no pod of ${calledBy(workload)} is ready`, {
          driver: workloads.driverOf(workload),
          program: sidecars[0]?.program,
          objects: [object],
          evidence: [
            factOf(calledBy(workload), 'spec.replicas', replicas),
            factOf(`pods of ${calledBy(workload)}`, 'ready', `0 of ${own.length}`),
          ],
          look: describeOf(object),
        }),
      ];
    }),
});

const startMs = 120_000;

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}

export const programChecks: readonly Check[] = [looping, killed, restarting, doubled, surging, notReady];
