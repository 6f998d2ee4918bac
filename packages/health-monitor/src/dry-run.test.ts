// SPDX-License-Identifier: Apache-2.0
import { aDriver } from '@csi-sidecars/csi/testing';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { aDryWorld } from '@csi-sidecars/runtime/testing';
import type { DryAction } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { aClaim, aVolume } from '../testing/builders.ts';
import { dryRun, type HealthMonitorDryLoop } from './dry-run.ts';

const done: DryAction = { kind: 'conclude', outcome: { kind: 'done' } };

interface Row {
  readonly loop: HealthMonitorDryLoop;
  readonly row: string;
  readonly given: string;
  readonly phase: string;
  readonly action: DryAction;
}

it.each<Row>([
  { loop: 'bound', row: 'G1', given: 'a volume that is Released', phase: 'Released', action: done },
  {
    loop: 'bound',
    row: 'G2',
    given: 'a volume that is Bound',
    phase: 'Bound',
    action: { kind: 'call', method: 'ControllerGetVolumeHealth' },
  },
  { loop: 'claims', row: 'H1', given: 'a volume that nothing was reported of', phase: 'Bound', action: done },
])('given $given, then row $row of $loop decides', async ({ loop, row, phase, action }) => {
  const objects = [
    { resource: persistentVolumes, objects: [aVolume({ phase })] },
    { resource: persistentVolumeClaims, objects: [aClaim()] },
  ];
  const driver = aDriver({ controller: ['GET_VOLUME_HEALTH'] });
  const result = await dryRun(aDryWorld(objects), { driver, loop, key: 'pv1', args: [] });
  expect(result).toMatchObject({ row, action });
});
