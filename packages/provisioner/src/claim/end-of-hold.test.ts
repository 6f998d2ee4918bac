// SPDX-License-Identifier: Apache-2.0
/** What a run that throws does with the claim's hold on its source: the claim loop alone, with holds that the test looks at. */
import { createController, createWakeUps, type Logger } from '@csi-sidecars/runtime';
import { driverInfoOf } from '@csi-sidecars/test-driver';
import { createProcess, recordedEvents } from '@csi-sidecars/test-driver/testing';
import { expect, it } from 'vitest';
import { aClaim, aClass, someSettings } from '../../testing/builders.ts';
import { aProvisioner } from '../../testing/provisioner-fixture.ts';
import { copying, fromSnapshot, prepareSources } from '../../testing/sources.ts';
import { noCapacity } from '../capacity/change.ts';
import { createProvisionerMetrics } from '../metrics.ts';
import { createSourceHolds } from '../source/holds.ts';
import { watchedBy } from '../watched.ts';
import { createInstanceWaits } from './instance-waits.ts';
import { claimLoop } from './loop.ts';
import { createClaimMemory } from './memory.ts';
import type { ClaimDeps } from './state.ts';

const daily = { kind: 'snapshot', namespace: 'team', name: 'daily' } as const;

interface End {
  readonly calls: readonly string[];
  /** How many claims hold the snapshot. */
  readonly holders: number;
  /** The sources that were woken. */
  readonly woken: readonly string[];
}

/** After a run of a restore that throws at this row. */
async function afterThrowAt(row: string): Promise<End> {
  const prepared = await aProvisioner({ controller: copying, seed: [aClass()] });
  await prepareSources(prepared);
  const cluster = prepared.crash();
  const running = createProcess(cluster, { name: 'csi-provisioner', interrupt: undefined, defects: 'expected' });
  const { ports, death } = running;
  const woken: string[] = [];
  const holds = createSourceHolds({ wake: (key) => void woken.push(key) });
  const { recorder: events } = recordedEvents(death);
  const settings = someSettings();
  const driver = driverInfoOf(cluster.driver.settings);
  const deps: ClaimDeps = {
    driver,
    settings,
    supportsTopology: false,
    channel: ports.channel,
    events,
    driverEvents: events,
    metrics: createProvisionerMetrics(ports.metrics),
    memory: createClaimMemory(),
    holds,
    ownership: undefined,
    instanceWaits: createInstanceWaits(ports.clock),
    saves: createWakeUps(),
    claims: createWakeUps(),
    capacity: noCapacity,
  };
  const throwing: Logger = {
    ...ports.logger,
    info: (_level, message, facts) => {
      if (message === 'Decided' && facts?.['row'] === row) throw new Error('a defect');
    },
    with: () => throwing,
  };
  const watched = watchedBy(driver, { topology: 'off', settings });
  const loop = claimLoop(deps, watched, ports.clock);
  const p = await running.run(createController({ ...ports, logger: throwing }, [loop]));
  p.server.seed(aClaim({ spec: fromSnapshot }));
  await p.settle();
  return { calls: p.calls(), holders: holds.holders(daily), woken };
}

it('[provisioner#X3] given a run that throws before the call, then the claim no longer holds its source, and the source is looked at', async () => {
  expect(await afterThrowAt('C22')).toEqual({ calls: [], holders: 0, woken: ['snapshot/team/daily'] });
});

it('[provisioner#X3] given a run that throws while a volume exists that is not recorded, then the claim still holds its source', async () => {
  const calls = ['CreateVolume pvc-uid-data OK'];
  expect(await afterThrowAt('C31')).toEqual({ calls, holders: 1, woken: [] });
});
