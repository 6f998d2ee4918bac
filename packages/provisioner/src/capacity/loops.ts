// SPDX-License-Identifier: Apache-2.0
/** All loops around published capacity, and what the loops for claims and volumes report to them. */
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  type ApiClient,
  type ControllerPorts,
  createTrigger,
  type Loop,
  type LoopSettings,
} from '@csi-sidecars/runtime';
import { segmentLoop } from '../segments/loop.ts';
import type { NodeDeployment } from '../settings.ts';
import { ownSegments } from '../topology/own-node.ts';
import { createSegmentMemory } from '../topology/segments.ts';
import { watchedForCapacity } from '../watched.ts';
import { type CapacityChanges, createCapacityChanges } from './change.ts';
import { type CapacityGauges, countCapacities } from './gauges.ts';
import type { CapacityTarget, ItemKey } from './items.ts';
import { capacityLoop } from './loop.ts';
import { pollLoop } from './poll.ts';
import type { CapacitySettings } from './settings.ts';

/** What a process that publishes capacity has beside the ports of its controllers. */
export interface CapacityPorts {
  readonly settings: CapacitySettings;
  /** For the objects: with a rate limit of its own. */
  readonly client: ApiClient;
  readonly gauges: CapacityGauges;
}

export interface CapacityLoops {
  readonly loops: readonly Loop[];
  readonly changes: CapacityChanges;
}

export interface CapacityFacts {
  readonly driverName: string;
  readonly channel: CsiChannel;
  readonly timeoutMs: number;
  readonly retries: LoopSettings;
  /** That of this instance, whose capacity alone is published. Undefined: the segments of all nodes are looked for. */
  readonly node: Pick<NodeDeployment, 'segments'> | undefined;
}

export function createCapacityLoops(
  { informers }: Pick<ControllerPorts, 'informers'>,
  { settings, client, gauges }: CapacityPorts,
  { driverName, channel, timeoutMs, retries, node }: CapacityFacts,
): CapacityLoops {
  const { immediateBinding, namespace, managedBy, owner, threads, pollIntervalMs } = settings;
  const target: CapacityTarget = { driverName, immediateBinding };
  const management = { driverName, managedBy, namespace, owner };
  const watched = watchedForCapacity(driverName, management);
  const segments = createSegmentMemory();
  if (node !== undefined) segments.replace(ownSegments(node));
  const items = createTrigger<ItemKey>();
  const deps = { target, management, segments, items, channel, client, timeoutMs };
  const classes = informers.informer(watched.classes).lister;
  const objects = informers.informer(watched.objects).lister;
  gauges.show(() => countCapacities({ target, segments, classes, objects }));
  return {
    loops: [
      ...(node === undefined ? [segmentLoop({ target, segments, items }, watched, retries)] : []),
      capacityLoop(deps, watched, { ...retries, workerThreads: threads }),
      pollLoop({ target, segments, items, intervalMs: pollIntervalMs }, watched),
    ],
    changes: createCapacityChanges({ target, segments, items }),
  };
}
