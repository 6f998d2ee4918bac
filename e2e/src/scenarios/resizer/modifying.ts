// SPDX-License-Identifier: Apache-2.0
/** another VolumeAttributesClass for a volume that is there. */
import assert from 'node:assert/strict';
import { persistentVolumes, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { ScenarioContext } from '../context.ts';
import { untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  claimOf,
  conditionsOf,
  makeClass,
  makeClassOf,
  modifyCalls,
  readyToGrow,
  untilStatus,
  wantClass,
} from './steps.ts';

const method = 'ControllerModifyVolume';
const needs = ['driver-journal', 'driver-settings'] as const;

async function untilClass(ctx: ScenarioContext, name: string): Promise<PersistentVolumeClaim> {
  const claim = await untilStatus(
    ctx,
    `has ${name}`,
    (it) => it.currentVolumeAttributesClassName === name && it.modifyVolumeStatus === undefined,
  );
  const volume = await ctx.api.get(persistentVolumes, { name: claim.spec?.volumeName ?? '' });
  assert.equal(volume.spec?.volumeAttributesClassName, name);
  assert.deepEqual(conditionsOf(claim.status), []);
  return claim;
}

const askedFor = async (ctx: ScenarioContext) =>
  (await modifyCalls(ctx)).map(({ request }) => request.mutable_parameters?.['tier']);

export const modifying: readonly Scenario[] = [
  {
    id: 'R-10',
    title: 'a claim gets another class: one call with its parameters, both objects show it, both events are there',
    needs: ['attributes-classes', ...needs],
    run: async (ctx) => {
      await readyToGrow(ctx);
      const gold = await makeClass(ctx, 'gold', { tier: 'gold' });
      await wantClass(ctx, gold);

      await untilClass(ctx, gold);
      assert.deepEqual(await askedFor(ctx), ['gold']);
      await untilEvent(ctx, 'VolumeModify', `with vac ${gold}`);
      await untilEvent(ctx, 'VolumeModifySuccessful', `with vac ${gold} successfully`);
    },
  },
  {
    id: 'R-11',
    title: 'a class that the driver refuses shows as infeasible; back to the old one, and all of that is gone',
    needs: ['attributes-classes', 'driver-faults', ...needs],
    run: async (ctx) => {
      await readyToGrow(ctx, { args: ['--retry-interval-start=500ms', '--retry-interval-max=5m'] });
      const [silver, gold] = [
        await makeClass(ctx, 'silver', { tier: 'silver' }),
        await makeClass(ctx, 'gold', { tier: 'gold' }),
      ];
      await wantClass(ctx, silver);
      await untilClass(ctx, silver);
      const rule = await ctx.driver.control.addFault({
        method,
        action: { kind: 'fail', code: 'InvalidArgument', message: 'no gold' },
      });
      await wantClass(ctx, gold);
      await untilStatus(ctx, 'is infeasible', ({ modifyVolumeStatus }) => modifyVolumeStatus?.status === 'Infeasible');
      await untilEvent(ctx, 'VolumeModifyFailed', 'no gold');
      await ctx.consistently({
        forMs: 2_000,
        check: async () => assert.deepEqual(await askedFor(ctx), ['silver', 'gold']),
      });
      await ctx.driver.control.removeFault(rule);
      await wantClass(ctx, silver);

      await untilClass(ctx, silver);
      assert.deepEqual(await askedFor(ctx), ['silver', 'gold', 'silver']);
    },
  },
  {
    id: 'R-12',
    title:
      'the resizer is killed during a modification and the user wants another class: the first one is finished before',
    needs: ['attributes-classes', 'driver-faults', ...needs],
    restarts: true,
    run: async (ctx) => {
      await readyToGrow(ctx);
      const [silver, gold] = [
        await makeClass(ctx, 'silver', { tier: 'silver' }),
        await makeClass(ctx, 'gold', { tier: 'gold' }),
      ];
      const hang = await ctx.driver.control.addFault({ method, action: { kind: 'hang' } });
      await wantClass(ctx, gold);
      await ctx.eventually('a call hangs', async () => (await modifyCalls(ctx)).length === 1);
      const resizer = ctx.sidecars.find(({ name }) => name === 'csi-resizer');
      await resizer?.kill();
      assert.equal((await claimOf(ctx)).status?.modifyVolumeStatus?.targetVolumeAttributesClassName, gold);
      await wantClass(ctx, silver);
      await ctx.driver.control.removeFault(hang);

      await untilClass(ctx, silver);
      const asked = await askedFor(ctx);
      assert.deepEqual([asked.at(0), asked.at(-1)], ['gold', 'silver']);
      assert.ok(asked.indexOf('silver') > 1, 'the class of the open call is asked for again before the other one');
    },
  },
  {
    id: 'R-17',
    title:
      'a class that names another driver shows as infeasible without a call; a good class, and all of that is gone, as the storage e2e suite of Kubernetes expects',
    needs: ['attributes-classes', ...needs],
    run: async (ctx) => {
      await readyToGrow(ctx, { args: ['--retry-interval-start=500ms', '--retry-interval-max=5m'] });
      const gold = await makeClass(ctx, 'gold', { tier: 'gold' });
      const alien = await makeClassOf(ctx, 'alien', {
        driverName: `${ctx.driverName}-unique`,
        parameters: { xxInvalidParameterKey: 'xxInvalidParameterValue' },
      });
      await wantClass(ctx, alien);
      const { status } = await untilStatus(
        ctx,
        'shows the failure',
        ({ conditions = [], modifyVolumeStatus }) =>
          modifyVolumeStatus !== undefined && conditions.some(({ type }) => type === 'ModifyVolumeError'),
      );
      assert.deepEqual(status?.modifyVolumeStatus, { status: 'Infeasible', targetVolumeAttributesClassName: alien });
      assert.equal(status.phase, 'Bound');
      assert.notEqual(status.currentVolumeAttributesClassName, alien);
      await untilEvent(ctx, 'VolumeModifyFailed', `VAC "${alien}" belongs to driver ${ctx.driverName}-unique`);
      await wantClass(ctx, gold);

      await untilClass(ctx, gold);
      assert.deepEqual(await askedFor(ctx), ['gold']);
    },
  },
];
