// SPDX-License-Identifier: Apache-2.0
/** What a dry run of csi-resizer answers in states that its flows are tested with. */
import { persistentVolumeClaims, persistentVolumes, pods, volumeAttributesClasses } from '@csi-sidecars/runtime';
import { aDryWorld } from '@csi-sidecars/runtime/testing';
import type { DryAction } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { aClaim, aClass, aPod, aVolume, type ClaimOptions, driverName } from '../testing/builders.ts';
import type { ResizerDriver } from './driver.ts';
import { dryRun, type ResizerDryLoop } from './dry-run.ts';

const driver: ResizerDriver = {
  name: driverName,
  pluginCapabilities: new Set(['CONTROLLER_SERVICE', 'ONLINE']),
  controllerCapabilities: new Set(['EXPAND_VOLUME', 'MODIFY_VOLUME']),
  expansion: 'controller',
};
const writeStatus: DryAction = { kind: 'write', verb: 'patch', resource: 'persistentvolumeclaims/status' };
const call = (method: string): DryAction => ({ kind: 'call', method });
const done: DryAction = { kind: 'conclude', outcome: { kind: 'done' } };

interface Row {
  readonly row: string | undefined;
  readonly given: string;
  readonly claim?: ClaimOptions;
  readonly loop?: ResizerDryLoop;
  readonly driver?: Partial<ResizerDriver>;
  readonly action: DryAction;
}

const table: readonly Row[] = [
  { row: 'E10', given: 'a claim that is to grow', action: writeStatus },
  {
    row: 'E2',
    given: 'a claim whose PersistentVolume has not arrived',
    claim: { volumeName: 'pv2' },
    action: done,
  },
  { row: 'E5', given: 'a claim that has what it asks for', claim: { cap: '2Gi' }, action: done },
  {
    row: 'M12',
    given: 'a claim that is to change its class',
    claim: { wantedClass: 'gold' },
    loop: 'modify',
    action: writeStatus,
  },
  {
    row: 'M16',
    given: 'a claim whose modification is under way',
    claim: { wantedClass: 'gold', modifyStatus: { targetVolumeAttributesClassName: 'gold', status: 'InProgress' } },
    loop: 'modify',
    action: call('ControllerModifyVolume'),
  },
  {
    row: 'M5',
    given: 'a claim that has the class that it names',
    claim: { wantedClass: 'gold', currentClass: 'gold' },
    loop: 'modify',
    action: done,
  },
  {
    row: undefined,
    given: 'a driver that modifies nothing',
    claim: { wantedClass: 'gold' },
    loop: 'modify',
    driver: { controllerCapabilities: new Set(['EXPAND_VOLUME']) },
    action: { kind: 'none' },
  },
];

it.each(table)('[explain#87] given $given, then the dry run comes to row $row', async ({ row, action, ...given }) => {
  const claim = aClaim(given.claim);
  const world = aDryWorld([
    { resource: persistentVolumeClaims, objects: [claim] },
    { resource: persistentVolumes, objects: [aVolume({ claim })] },
    { resource: volumeAttributesClasses, objects: [aClass()] },
    { resource: pods, objects: [aPod()] },
  ]);
  const question = { loop: given.loop ?? 'expand', key: 'team/data', args: [], driver: { ...driver, ...given.driver } };
  const answer = await dryRun(world, question);
  expect([answer.row, answer.action]).toEqual([row, action]);
});

it('given a cluster without attributes classes, then the loop that modifies does not exist, unless the command line says so', async () => {
  const claim = aClaim({ wantedClass: 'gold' });
  const known = aDryWorld([
    { resource: persistentVolumeClaims, objects: [claim] },
    { resource: persistentVolumes, objects: [aVolume({ claim })] },
    { resource: volumeAttributesClasses, objects: [aClass()] },
  ]);
  const world = { ...known, read: { ...known.read, raw: () => Promise.resolve({ resources: [] }) } };
  const rowWith = async (args: readonly string[]) =>
    (await dryRun(world, { loop: 'modify', key: 'team/data', args, driver })).row;
  expect(await rowWith([])).toBe(undefined);
  expect(await rowWith(['--feature-gates=VolumeAttributesClass=true'])).toBe('M12');
});

it('given what was assumed, then the answer lists it', async () => {
  const { assumed } = await dryRun(aDryWorld([]), { loop: 'expand', key: 'team/data', args: [], driver });
  expect(assumed).toEqual([
    'memory',
    'the driver reports CONTROLLER_SERVICE, ONLINE, EXPAND_VOLUME, MODIFY_VOLUME',
    'expansion is the work of: controller',
  ]);
});
