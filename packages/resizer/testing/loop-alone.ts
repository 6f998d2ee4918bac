// SPDX-License-Identifier: Apache-2.0
/** One loop alone, between a fake API server and the driver's model. Tests look into its memory. */
import { type Clock, createController, type EventRecorder, type KubeObject, type Loop } from '@csi-sidecars/runtime';
import {
  createProcess,
  createTestCluster,
  prepareVolumes,
  type RunningController,
} from '@csi-sidecars/test-driver/testing';
import { createClaimMemory } from '../src/claim-memory.ts';
import { createOpenCalls } from '../src/open-calls.ts';
import { createOwnWriteFilter } from '../src/own-write-filter.ts';
import { clusterRules } from '../src/rbac.ts';
import type { ClaimContext } from '../src/steps.ts';
import { createVolumeLocks } from '../src/volume-locks.ts';
import { watchedBy, watchedClasses } from '../src/watched.ts';
import { aDriver, driverName, someSettings } from './builders.ts';

type Watched = ReturnType<typeof watchedBy> & { readonly classes: ReturnType<typeof watchedClasses> };

export interface LoopAloneOptions {
  readonly seed: readonly KubeObject[];
  /** What recording an event does. Default: nothing. */
  readonly record?: EventRecorder['record'];
  /** Default `fail`. */
  readonly defects?: 'fail' | 'expected';
}

export async function loopAlone(
  define: (context: ClaimContext, watched: Watched, clock: Clock) => Loop,
  { seed, record = () => undefined, defects = 'fail' }: LoopAloneOptions,
): Promise<RunningController & { readonly context: ClaimContext }> {
  const cluster = createTestCluster({
    serviceAccount: 'csi:resizer',
    rules: clusterRules,
    driver: { name: driverName },
  });
  await prepareVolumes(cluster);
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, { name: 'csi-resizer', interrupt: undefined, defects });
  const { ports } = process;
  const context: ClaimContext = {
    driver: aDriver(),
    channel: ports.channel,
    settings: someSettings(),
    events: { record, flush: () => Promise.resolve() },
    memory: createClaimMemory(),
    locks: createVolumeLocks(),
    ownWriteFilter: createOwnWriteFilter(),
    openCalls: createOpenCalls(ports),
  };
  const watched = { ...watchedBy({ driverName, resyncMs: 0 }), classes: watchedClasses() };
  const running = await process.run(createController(ports, [define(context, watched, ports.clock)]));
  return { ...running, context };
}
