// SPDX-License-Identifier: Apache-2.0
/** One loop alone, between a fake API server and the driver's model. Tests look into its memory. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { type Clock, createController, type EventRecorder, type KubeObject, type Loop } from '@csi-sidecars/runtime';
import {
  createProcess,
  createTestCluster,
  prepareVolumes,
  type RunningController,
} from '@csi-sidecars/test-driver/testing';
import { type ClaimMemory, createClaimMemory } from '../src/claim-memory.ts';
import type { ResizerDriver } from '../src/driver.ts';
import { createOpenCalls, type OpenCalls } from '../src/open-calls.ts';
import { createOwnWrites, type OwnWrites } from '../src/own-writes.ts';
import { clusterRules } from '../src/rbac.ts';
import type { ResizerSettings } from '../src/settings.ts';
import { createVolumeTurns, type VolumeTurns } from '../src/volume-turns.ts';
import { watchedBy, watchedClasses } from '../src/watched.ts';
import { aDriver, driverName, someSettings } from './builders.ts';

interface Context<Entry extends { readonly uid: string }> {
  readonly driver: ResizerDriver;
  readonly channel: CsiChannel;
  readonly settings: ResizerSettings;
  readonly events: EventRecorder;
  readonly memory: ClaimMemory<Entry>;
  readonly turns: VolumeTurns;
  readonly ownWrites: OwnWrites;
  readonly openCalls: OpenCalls;
}

type Watched = ReturnType<typeof watchedBy> & { readonly classes: ReturnType<typeof watchedClasses> };

export interface LoopAloneOptions {
  readonly seed: readonly KubeObject[];
  /** What recording an event does. Default: nothing. */
  readonly record?: EventRecorder['record'];
  /** Default `fail`. */
  readonly defects?: 'fail' | 'expected';
}

export async function loopAlone<Entry extends { readonly uid: string }>(
  define: (context: Context<Entry>, watched: Watched, clock: Clock) => Loop,
  { seed, record = () => undefined, defects = 'fail' }: LoopAloneOptions,
): Promise<RunningController & { readonly context: Context<Entry> }> {
  const cluster = createTestCluster({
    serviceAccount: 'csi:resizer',
    rules: clusterRules,
    driver: { name: driverName },
  });
  await prepareVolumes(cluster);
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, { name: 'csi-resizer', interrupt: undefined, defects });
  const { ports } = process;
  const context: Context<Entry> = {
    driver: aDriver(),
    channel: ports.channel,
    settings: someSettings(),
    events: { record, flush: () => Promise.resolve() },
    memory: createClaimMemory(),
    turns: createVolumeTurns(),
    ownWrites: createOwnWrites(),
    openCalls: createOpenCalls(ports),
  };
  const watched = { ...watchedBy({ driverName, resyncMs: 0 }), classes: watchedClasses() };
  const running = await process.run(createController(ports, [define(context, watched, ports.clock)]));
  return { ...running, context };
}
