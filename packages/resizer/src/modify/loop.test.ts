// SPDX-License-Identifier: Apache-2.0
/** The modification loop alone, with turns that the test can ask for. */
import { createController } from '@csi-sidecars/runtime';
import { createProcess, createTestCluster } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, aDriver, aVolume, driverName, someSettings } from '../../testing/builders.ts';
import { claimKey } from '../claim.ts';
import { createClaimMemory } from '../claim-memory.ts';
import { createOpenCalls } from '../open-calls.ts';
import { createOwnWrites } from '../own-writes.ts';
import { clusterRules } from '../rbac.ts';
import { createVolumeTurns } from '../volume-turns.ts';
import { watchedBy, watchedClasses } from '../watched.ts';
import { modifyLoop } from './loop.ts';

it('given a run that throws, then the turn on its volume is free for the expansion', async () => {
  const claim = aClaim({ spec: '1Gi', wantedClass: 'gold' });
  const cluster = createTestCluster({
    serviceAccount: 'csi:resizer',
    rules: clusterRules,
    driver: { name: driverName },
  });
  for (const object of [claim, aVolume(), aClass()]) cluster.server.seed(object);
  const { ports, run } = createProcess(cluster, { name: 'csi-resizer', interrupt: undefined, defects: 'expected' });
  const turns = createVolumeTurns();
  const record = (): never => {
    throw new Error('defect');
  };
  const context = {
    driver: aDriver(),
    channel: ports.channel,
    settings: someSettings(),
    events: { record, flush: () => Promise.resolve() },
    memory: createClaimMemory<never>(),
    turns,
    ownWrites: createOwnWrites(),
    openCalls: createOpenCalls(ports),
  };
  const watched = { ...watchedBy({ driverName, resyncMs: 0 }), classes: watchedClasses() };
  const running = await run(createController(ports, [modifyLoop(context, watched, ports.clock)]));
  const thrown = running.logger.lines.filter(({ message }) => message === 'Reconcile threw, will retry');
  expect(thrown).toMatchObject([{ error: { message: 'defect' } }]);
  expect(turns.take('volume-1', 'expand', claimKey(claim))).toBe(true);
  await running.stop();
});
