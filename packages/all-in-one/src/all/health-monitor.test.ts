// SPDX-License-Identifier: Apache-2.0
/** The health monitor beside other controllers: parked without the capability, and asked again when the driver comes back. */
import { type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import { leases, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import type { DrivenProgram } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { allCapabilities, capabilities, growing, healthy, runCombined } from '../../testing/run-all.ts';

const args = ['--controllers=health-monitor,resizer', '--leader-election', '--leader-election-namespace=ns'];
const entry = { status: 'DEGRADED', reason: 'SlowDisk', message: 'slow' } as const;
const can = (...types: readonly string[]): Handlers => ({
  ...healthy,
  '/csi.v1.Controller/ControllerGetCapabilities': () => capabilities(...allCapabilities, ...types),
  '/csi.v1.Controller/ControllerListVolumeHealth': () => ({
    entries: [{ volume_id: 'volume-1', health_statuses: [entry] }],
  }),
  '/csi.v1.Controller/ControllerGetVolumeHealth': ({ volume_id }) => ({
    volume_health: { volume_id, health_statuses: [{ ...entry, reason: 'Worse' }] },
  }),
});

const claimOf = ({ host }: DrivenProgram) =>
  host.server.objects.get(persistentVolumeClaims, { namespace: 'team', name: 'bound' });
const shown = (program: DrivenProgram): readonly string[] => {
  const { healthStatus } = (claimOf(program)?.status ?? {}) as {
    readonly healthStatus?: { readonly healthConditions: readonly { readonly reason: string }[] };
  };
  return healthStatus?.healthConditions.map(({ reason }) => reason) ?? [];
};
const leaseOf = ({ host }: DrivenProgram) =>
  host.server.objects.get(leases, { namespace: 'ns', name: 'external-health-monitor-leader-test-csi-example-com' });

async function eventually(program: DrivenProgram, isTrue: () => boolean): Promise<void> {
  for (let quarter = 0; quarter < 240 && !isTrue(); quarter += 1) {
    for (let turn = 0; turn < 10 && !isTrue(); turn += 1) await settle();
    if (!isTrue()) await program.host.clock.advance(250);
  }
  expect(isTrue()).toBe(true);
}

it('[health-monitor#4,75] given a driver without the capability, then the health monitor is parked without a lease, and it works when the driver comes back with it', async () => {
  await using program = await runCombined({ handlers: can(), args, seed: growing() });
  const parked = /cannot be monitored: it lacks GET_VOLUME_HEALTH.*parked.*controller="health-monitor"/;
  await eventually(program, () => parked.test(program.host.logged()));
  await eventually(program, () => claimOf(program)?.status?.conditions !== undefined);
  expect([shown(program), leaseOf(program)]).toEqual([[], undefined]);
  program.driver.stop();
  await eventually(program, () => program.host.logged().includes('Lost connection'));
  const again = await serveCsi(can('GET_VOLUME_HEALTH'), program.driver.path);
  await eventually(program, () => shown(program).length > 0);
  expect([shown(program), leaseOf(program)?.spec?.holderIdentity]).toEqual([['Worse'], 'pod-1']);
  program.host.stop();
  again.stop();
});

it('[health-monitor#75] given a driver that comes back and lists now, then it is asked for its list', async () => {
  await using program = await runCombined({ handlers: can('GET_VOLUME_HEALTH'), args, seed: growing() });
  await eventually(program, () => shown(program)[0] === 'Worse');
  program.driver.stop();
  await eventually(program, () => program.host.logged().includes('Lost connection'));
  const again = await serveCsi(can('GET_VOLUME_HEALTH', 'LIST_VOLUME_HEALTH'), program.driver.path);
  await eventually(program, () => shown(program)[0] === 'SlowDisk');
  program.host.stop();
  again.stop();
});
