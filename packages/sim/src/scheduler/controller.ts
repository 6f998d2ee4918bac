// SPDX-License-Identifier: Apache-2.0
/**
 * The part of kube-scheduler that matters to volumes: selects a node for claims that wait for their first consumer, honours
 * topology, capacity, volume limits, taints and selectors, and assigns the pod once its claims are bound.
 *
 * The node is written into the pod's spec; the binding sub-resource is not needed on the simulated server.
 * Not here: resources, priorities, preemption, spreading. Among suitable nodes, the random source chooses.
 */
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  done,
  keyOf,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  toObjectKey,
  type KubeObject,
  type Node,
  type ObjectKey,
  type Outcome,
  type PersistentVolume,
  type Pod,
} from '@csi-sidecars/runtime';
import { claimKeysOf, isFinished, nodeOf } from '../pods.ts';
import { createLoop, enqueueFor, type SimController, type SimDeps } from '../loop/loop.ts';
import { decideSchedule, type ScheduleAction } from './schedule.ts';
import { selectedNode } from '../annotations.ts';
import { withClaimRef } from '../volume-binding/bind.ts';
import type { NodeFacts, PodClaim } from './state.ts';

const schedulerName = 'default-scheduler';

export function createScheduler(deps: SimDeps): SimController {
  const { client, informers, random, recorder } = deps;
  const all = {
    pods: informers.informer({ resource: pods, indexers: { node: (pod) => [nodeOf(pod)] } }),
    claims: informers.informer({ resource: persistentVolumeClaims }),
    volumes: informers.informer({ resource: persistentVolumes }),
    classes: informers.informer({ resource: storageClasses }),
    nodes: informers.informer({ resource: nodes }),
    csiNodes: informers.informer({ resource: csiNodes }),
    drivers: informers.informer({ resource: csiDrivers }),
    capacities: informers.informer({ resource: csiStorageCapacities }),
  };
  // One worker: two pods must not both get the last free slot of a node.
  const loop = createLoop(deps, { name: 'scheduler', informers: Object.values(all), reconcile, workers: 1 });
  /** Pods that were looked at and have no node: a change of anything may give them one. */
  const parked = new Set<ObjectKey>();
  all.pods.addHandler(enqueueFor(loop, (pod) => (isWaiting(pod) ? [keyOf(pod)] : unpark())));
  for (const informer of [all.claims, all.volumes, all.classes, all.nodes, all.csiNodes, all.drivers, all.capacities]) {
    informer.addHandler(enqueueFor<KubeObject>(loop, unpark));
  }

  function unpark(): readonly ObjectKey[] {
    const keys = [...parked];
    parked.clear();
    return keys;
  }

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const pod = all.pods.lister.get(key);
    if (pod === undefined || !isWaiting(pod)) {
      parked.delete(key);
      return done;
    }
    // Before the caches are read, so that no change is missed.
    parked.add(key);
    const state = {
      pod,
      claims: claimKeysOf(pod).map(claimState),
      nodes: all.nodes.lister.list().toSorted(byName).map(nodeFacts),
      get volumes() {
        return all.volumes.lister.list();
      },
      drivers: all.drivers.lister.list(),
      capacities: all.capacities.lister.list(),
    };
    const choose = (feasible: readonly Node[]): Node => feasible[Math.floor(random.next() * feasible.length)] ?? {};
    await perform(pod, decideSchedule(state, choose), signal);
    return done;
  }

  function claimState(key: ObjectKey): PodClaim {
    const claim = all.claims.lister.get(key);
    const { volumeName = '', storageClassName = '' } = claim?.spec ?? {};
    return {
      name: key.split('/').at(-1) ?? '',
      claim,
      storageClass: all.classes.lister.get(toObjectKey(undefined, storageClassName)),
      volume: volumeName === '' ? undefined : all.volumes.lister.get(toObjectKey(undefined, volumeName)),
    };
  }

  function nodeFacts(node: Node): NodeFacts {
    return {
      node,
      csiNode: all.csiNodes.lister.get(keyOf(node)),
      get used() {
        const used = new Map<string, Set<string>>();
        for (const pod of all.pods.lister.byIndex('node', node.metadata?.name ?? '')) {
          if (!isFinished(pod)) for (const key of claimKeysOf(pod)) note(used, claimState(key).volume);
        }
        return used;
      },
    };
  }

  async function perform(pod: Pod, action: ScheduleAction, signal: AbortSignal): Promise<void> {
    switch (action.kind) {
      case 'none':
        return;
      case 'unschedulable':
        recorder.record(pod, { type: 'Warning', reason: 'FailedScheduling', message: action.message });
        return;
      case 'select':
        for (const pair of action.reserve) {
          const reserved = withClaimRef(pair);
          if (reserved !== undefined)
            all.volumes.remember(await client.update(persistentVolumes, reserved, { signal }));
        }
        for (const claim of action.provision) {
          const annotations = { ...claim.metadata?.annotations, [selectedNode]: action.nodeName };
          const marked = { ...claim, metadata: { ...claim.metadata, annotations } };
          all.claims.remember(await client.update(persistentVolumeClaims, marked, { signal }));
        }
        return;
      case 'assign': {
        const { name = '', namespace } = pod.metadata ?? {};
        const target = { resource: pods, ref: { namespace, name } };
        const body = { spec: { nodeName: action.nodeName } };
        const assigned = await client.patch(target, { type: 'merge', body }, { signal });
        all.pods.remember(assigned);
        const message = `Successfully assigned ${namespace}/${name} to ${action.nodeName}`;
        recorder.record(assigned, { type: 'Normal', reason: 'Scheduled', message });
      }
    }
  }

  return loop;
}

function isWaiting(pod: Pod): boolean {
  const ours = (pod.spec?.schedulerName ?? schedulerName) === schedulerName;
  return ours && nodeOf(pod) === '' && pod.metadata?.deletionTimestamp === undefined && !isFinished(pod);
}

function note(used: Map<string, Set<string>>, volume: PersistentVolume | undefined): void {
  const { driver, volumeHandle } = volume?.spec?.csi ?? {};
  if (driver === undefined || volumeHandle === undefined) return;
  const handles = used.get(driver) ?? new Set();
  used.set(driver, handles.add(volumeHandle));
}

function byName(a: Node, b: Node): number {
  return (a.metadata?.name ?? '').localeCompare(b.metadata?.name ?? '');
}
