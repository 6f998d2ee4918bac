// SPDX-License-Identifier: Apache-2.0
/** Part node: whether the driver is on its nodes, and whether kubelet knows it. `--node` restricts it to one. */
import type { Pod } from '@csi-sidecars/runtime';
import { nameOf } from '../../facts/objects.ts';
import type { ObjectName } from '../../verdict.ts';
import { type Check, driverCheck, factOf, type Judgement, problem, type Surroundings, textOf } from '../check.ts';
import { argumentsOf } from '../readings/arguments.ts';
import { driverContainers } from '../readings/drivers.ts';
import type { WorkloadFacts } from '../readings/sidecars.ts';
import { podsOf } from '../readings/workloads.ts';
import { registered } from './topology.ts';
import { calledBy, counted, describeOf, explainOf, yamlOf } from './wording.ts';
import type { DriverFacts, Workloads } from '../readings/facts.ts';

function nodeSets(workloads: Workloads, { name }: DriverFacts): readonly WorkloadFacts[] {
  return workloads.of(name).filter(({ object, registrar }) => object.kind === 'DaemonSet' && registrar !== undefined);
}

const isAsked = ({ node }: Surroundings, name: string | undefined): boolean => node === undefined || node === name;

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}

function podName(pod: Pod): ObjectName {
  return { kind: 'Pod', namespace: pod.metadata?.namespace, name: nameOf(pod) };
}

const unregistered: Check = driverCheck({
  id: 'node-1',
  severity: 'error',
  wrong: 'the pod of the driver is ready on a node, and kubelet does not know the driver',
  mend: 'see the log of the registrar: the folder of the registration socket, SELinux, a second DaemonSet',
  causes: ['node-3'],
  reads: ['workloads', 'pods', 'registrations'],
  judge: (driver, { workloads, pods, registrations }, surroundings) => {
    const known = new Set(registered(registrations, driver).map(({ node }) => node));
    const bad = nodeSets(workloads, driver).flatMap((set) =>
      podsOf(pods, set)
        .filter(
          (pod) => isReady(pod) && isAsked(surroundings, pod.spec?.nodeName) && !known.has(pod.spec?.nodeName ?? ''),
        )
        .map((pod) => ({ set, pod, node: pod.spec?.nodeName ?? '' })),
    );
    const [first] = bad;
    if (first === undefined) return [];
    const name = podName(first.pod);
    return [
      problem(
        `${driver.name} is not registered on ${first.node}${bad.length === 1 ? '' : ` and ${bad.length - 1} more`}, and its pod there is ready`,
        {
          objects: bad.map(({ node }) => ({ kind: 'Node', name: node })),
          evidence: [
            factOf(textOf(name), 'condition Ready', 'True'),
            factOf(
              `CSINode ${first.node}`,
              'drivers',
              registrations
                .find(({ node }) => node === first.node)
                ?.drivers.map((each) => each.name)
                .join(', '),
            ),
          ],
          look: logOf(name, first.set.registrar?.name),
        },
      ),
    ];
  },
});

function logOf(name: ObjectName, container = 'node-driver-registrar'): readonly string[] | undefined {
  const isPlain = describeOf(name) !== undefined && /^[a-z0-9.-]+$/.test(container);
  return isPlain ? ['kubectl', 'logs', '-n', name.namespace ?? 'default', name.name, '-c', container] : undefined;
}

const notReady: Check = driverCheck({
  id: 'node-2',
  severity: 'error',
  wrong: 'a pod of the DaemonSet of a driver is not ready on its node',
  mend: 'what its events say: mount propagation, SELinux, Pod Security, image',
  causes: ['pod-1', 'pod-2'],
  reads: ['workloads', 'pods', 'nodes'],
  judge: (driver, { workloads, pods, nodes }, surroundings) =>
    nodeSets(workloads, driver).flatMap((set): readonly Judgement[] => {
      const { desired, ready } = set.scheduled;
      if (desired <= ready) return [];
      // What a node that is away runs is not the fault of the driver.
      const away = new Set(nodes.filter((node) => !node.isReady).map(({ name }) => name));
      const bad = podsOf(pods, set).filter(
        (pod) => !isReady(pod) && isAsked(surroundings, pod.spec?.nodeName) && !away.has(pod.spec?.nodeName ?? ''),
      );
      const [first] = bad;
      if (first === undefined) return [];
      const name = podName(first);
      return [
        problem(
          `${counted(bad.length, 'pod')} of ${calledBy(set)} not ready; ${name.name} on ${first.spec?.nodeName ?? 'no node'}: ${whyOf(first)}`,
          {
            objects: bad.map(podName),
            evidence: [
              factOf(calledBy(set), 'desired, ready', `${desired}, ${ready}`),
              factOf(textOf(name), 'status', whyOf(first)),
            ],
            look: describeOf(name),
          },
        ),
      ];
    }),
});

function whyOf({ status, spec }: Pod): string {
  const waiting = status?.containerStatuses?.flatMap(({ name, state }) =>
    state?.waiting === undefined
      ? []
      : [`${name}: ${[state.waiting.reason, state.waiting.message].filter(Boolean).join(', ')}`],
  );
  if (waiting !== undefined && waiting.length > 0) return waiting.join('; ');
  return spec?.nodeName === undefined ? 'not scheduled' : `phase ${status?.phase ?? 'unknown'}`;
}

const pluginFolder = /^(.*)\/plugins\/[^/]+\/[^/]+$/;
const registryFolder = /^(.*)\/plugins_registry\/?$/;
const usualRoot = '/var/lib/kubelet';

interface Roots {
  /** Of `--kubelet-registration-path`. */
  readonly path: string | undefined;
  /** Of the folder in which kubelet looks for sockets. */
  readonly registry: string | undefined;
  readonly words: string | undefined;
}

function rootsOf({ registrar, spec }: WorkloadFacts): Roots {
  const read = registrar === undefined ? undefined : argumentsOf(registrar);
  const words = read?.values.get('kubelet-registration-path');
  const mounted = (registrar?.volumeMounts ?? []).flatMap(
    ({ name }) => spec.volumes?.find((volume) => volume.name === name)?.hostPath?.path ?? [],
  );
  const registry = mounted.map((path) => registryFolder.exec(path)?.[1]).find((root) => root !== undefined);
  return { path: words?.includes('$(') === true ? undefined : pluginFolder.exec(words ?? '')?.[1], registry, words };
}

const kubeletRoot: Check = driverCheck({
  id: 'node-3',
  severity: 'error',
  wrong:
    'the folder of kubelet differs between --kubelet-registration-path, the mount of plugins_registry and the mounts of the driver, or from that of all other drivers',
  mend: 'use one folder: that of --root-dir of kubelet',
  reads: ['workloads'],
  judge: (driver, { workloads }) => {
    const others = workloads.all
      .filter((each) => each.registrar !== undefined && !workloads.of(driver.name).includes(each))
      .map((each) => rootsOf(each).path)
      .filter((root) => root !== undefined);
    return nodeSets(workloads, driver).flatMap((set): readonly Judgement[] => {
      const { path, registry, words } = rootsOf(set);
      const given = factOf(calledBy(set), '--kubelet-registration-path', words);
      const facts = { objects: [set.object], look: yamlOf(set.object) };
      if (path !== undefined && registry !== undefined && path !== registry) {
        return [
          problem(
            `${calledBy(set)} registers ${driver.name} below ${path}, and mounts plugins_registry of ${registry}`,
            {
              ...facts,
              evidence: [given, factOf(calledBy(set), 'hostPath of plugins_registry', registry)],
            },
          ),
        ];
      }
      const folders = driverContainers(set).flatMap(({ volumeMounts = [] }) =>
        volumeMounts.flatMap(
          ({ name }) => set.spec.volumes?.find((volume) => volume.name === name)?.hostPath?.path ?? [],
        ),
      );
      const otherRoot = folders
        .map((folder) => /^(.*\/kubelet)(\/|$)/.exec(folder)?.[1])
        .find((root) => root !== undefined && root !== path);
      if (path !== undefined && otherRoot !== undefined && !folders.some((folder) => folder.startsWith(path))) {
        return [
          problem(`${calledBy(set)} registers ${driver.name} below ${path}, and the driver mounts ${otherRoot}`, {
            ...facts,
            evidence: [given, factOf(calledBy(set), 'hostPaths of the driver', folders.join(', '))],
          }),
        ];
      }
      if (path === undefined || path === usualRoot || others.length === 0 || others.some((root) => root !== usualRoot))
        return [];
      return [
        problem(`${calledBy(set)} registers ${driver.name} below ${path}, and all other drivers below ${usualRoot}`, {
          ...facts,
          evidence: [given, factOf('other DaemonSets', '--kubelet-registration-path', `below ${usualRoot}`)],
        }),
      ];
    });
  },
});

const nearlyFull = 0.9;

const full: Check = driverCheck({
  id: 'node-4',
  severity: 'warn',
  wrong: 'nine tenths of the volumes that a node can have are attached',
  mend: 'spread the pods, or add nodes',
  reads: ['registrations', 'attachments'],
  judge: (driver, { registrations, attachments }, surroundings) => {
    const attached = new Map<string, number>();
    for (const { driver: of, node, isAttached } of attachments)
      if (of === driver.name && isAttached) attached.set(node, (attached.get(node) ?? 0) + 1);
    const bad = registered(registrations, driver).filter(
      ({ node, count }) =>
        isAsked(surroundings, node) &&
        count !== undefined &&
        count > 0 &&
        (attached.get(node) ?? 0) >= nearlyFull * count,
    );
    const [first] = bad;
    if (first === undefined) return [];
    return [
      problem(
        `${attached.get(first.node)} of ${first.count} volumes of ${driver.name} are attached to ${first.node}${bad.length === 1 ? '' : ` (and ${bad.length - 1} more nodes)`}`,
        {
          objects: bad.map(({ node }) => ({ kind: 'Node', name: node })),
          evidence: [
            factOf(`CSINode ${first.node}`, 'allocatable.count', first.count),
            factOf('VolumeAttachments', `attached to ${first.node}`, attached.get(first.node)),
          ],
          look: yamlOf({ kind: 'CSINode', name: first.node }),
        },
      ),
    ];
  },
});

const unreachableMs = 360_000;

const awayNodes: Check = driverCheck({
  id: 'node-6',
  severity: 'error',
  wrong: 'volumes are attached to nodes that do not exist, or have not been ready for six minutes',
  mend: 'if the machine is off for certain, the taint node.kubernetes.io/out-of-service moves its volumes; while it runs, that loses data',
  reads: ['attachments', 'nodes'],
  judge: (driver, { attachments, nodes }, surroundings) => {
    const known = new Map(nodes.map((node) => [node.name, node]));
    const isAway = (name: string): boolean => {
      const node = known.get(name);
      if (node === undefined) return true;
      return !node.isReady && node.readySinceMs !== undefined && surroundings.nowMs - node.readySinceMs > unreachableMs;
    };
    const stuck = attachments
      .filter(({ driver: of, node }) => of === driver.name && isAsked(surroundings, node) && isAway(node))
      .toSorted((left, right) => (left.createdMs ?? 0) - (right.createdMs ?? 0));
    const [first] = stuck;
    if (first === undefined) return [];
    const name = { kind: 'VolumeAttachment', name: first.name };
    const node = known.get(first.node);
    const places = [...new Set(stuck.map((each) => each.node))];
    return [
      problem(
        `${counted(stuck.length, 'volume')} of ${driver.name} attached to ${counted(places.length, 'node')} that ${places.length === 1 ? 'is' : 'are'} away: ${places.slice(0, 5).join(', ')}`,
        {
          objects: stuck.map((each) => ({ kind: 'VolumeAttachment', name: each.name })),
          evidence: [
            factOf(textOf(name), 'spec.nodeName', first.node),
            factOf(`Node ${first.node}`, 'condition Ready', node === undefined ? 'the node is absent' : 'not True'),
          ],
          look: explainOf('volumeattachment', name),
        },
      ),
    ];
  },
});

export const nodeChecks: readonly Check[] = [unregistered, notReady, kubeletRoot, full, awayNodes];
