// SPDX-License-Identifier: Apache-2.0
/**
 * The pods of one node. First match wins:
 *
 * | pod | condition | action |
 * |---|---|---|
 * | being deleted | no volume is mounted for it any more | delete with grace period 0, which removes the pod |
 * | being deleted, or finished | else | none: its volumes are unmounted first |
 * | Pending | all its claims are bound and its volumes mounted | Running |
 */
import { done, pods, type ObjectKey, type Outcome, type Pod } from '@csi-sidecars/runtime';
import { createLoop, type Loop, type SimDeps } from '../loop/loop.ts';
import { isFinished } from '../pods.ts';
import { toTime } from '../timestamps.ts';
import type { Freezer } from './freezer.ts';
import type { MountTable } from './mount-table.ts';
import type { NodeView, PodVolumes } from './node-view.ts';

export interface PodState {
  readonly pod: Pod;
  readonly volumes: PodVolumes;
  /** Names of the volumes that are mounted for it. */
  readonly mounted: readonly string[];
}

export type PodAction = 'none' | 'run' | 'end';

export function decidePod({ pod, volumes, mounted }: PodState): PodAction {
  if (pod.metadata?.deletionTimestamp !== undefined) return mounted.length === 0 ? 'end' : 'none';
  if (isFinished(pod) || pod.status?.phase === 'Running') return 'none';
  if (volumes === 'unbound') return 'none';
  return volumes.every(({ volume }) => mounted.includes(volume.metadata?.name ?? '')) ? 'run' : 'none';
}

export interface PodLoopDeps {
  readonly sim: SimDeps;
  readonly view: NodeView;
  readonly table: MountTable;
  readonly freezer: Freezer;
}

export function createPodLoop({ sim, view, table, freezer }: PodLoopDeps): Loop {
  const { client, clock } = sim;
  const informers = view.informers;
  return createLoop(sim, { name: 'node-pods', informers, reconcile, gate: freezer.gate });

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const pod = view.pods.lister.get(key);
    if (pod === undefined) return done;
    const { name = '', namespace, uid = '' } = pod.metadata ?? {};
    const ref = { namespace, name };
    switch (decidePod({ pod, volumes: view.volumesOf(pod), mounted: table.publishedFor(uid) })) {
      case 'none':
        return done;
      case 'end':
        await client.delete(pods, ref, { gracePeriodSeconds: 0, preconditions: { uid }, signal });
        return done;
      case 'run': {
        const body = { status: runningStatus(pod, clock.nowMs()) };
        view.pods.remember(
          await client.patch({ resource: pods, ref }, { type: 'strategic', body }, { subresource: 'status', signal }),
        );
        return done;
      }
    }
  }
}

function runningStatus(pod: Pod, nowMs: number): object {
  const startTime = toTime(nowMs);
  const conditions = ['Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: startTime,
  }));
  const containerStatuses = (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
    name,
    image,
    imageID: image,
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: startTime } },
  }));
  return { phase: 'Running', startTime, conditions, containerStatuses };
}
