// SPDX-License-Identifier: Apache-2.0
/** P-08 to P-12: crashes, time-outs and refusals around CreateVolume. At the end there is one volume, or none; never two. */
import assert from 'node:assert/strict';
import { startApiProxy } from '../../faults/api-proxy.ts';
import { createCalls, deletedIds, namesOf } from '../../driver/calls.ts';
import type { DriverInstance } from '../../driver/driver.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, deleteClaim, eventsOf, untilBound, untilEvent } from './steps.ts';

const needs = ['driver-faults', 'driver-journal'] as const;

/** The claim is bound to the only volume, and every attempt used the same name. */
async function assertOneVolume(ctx: ScenarioContext, driver: DriverInstance, attempts: number): Promise<void> {
  const { claim, volume } = await untilBound(ctx);
  const calls = await createCalls(driver);
  assert.equal(calls.length, attempts);
  assert.deepEqual(namesOf(calls), [`pvc-${claim.metadata?.uid}`]);
  assert.deepEqual(
    (await driver.control.volumes()).map(({ id }) => id),
    [volume.spec?.csi?.volumeHandle],
  );
}

export const failures: readonly Scenario[] = [
  ...(['after', 'before'] as const).map((at): Scenario => ({
    id: at === 'after' ? 'P-08' : 'P-09',
    title: `the driver crashes ${at} it has created the volume: one volume in the end`,
    needs,
    restarts: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await driver.control.addFault({ method: 'CreateVolume', at, action: { kind: 'crash' } });
      const provisioner = await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx));

      await assertOneVolume(ctx, driver, 2);

      assert.equal(driver.process.exits.length, 1, 'the driver crashed once');
      await ctx.eventually('the provisioner has ended for the lost connection', () => provisioner.exits.length === 1);
      assert.equal(provisioner.exits[0]?.code, 1);
    },
  })),
  {
    id: 'P-10',
    title: 'the provisioner is killed between CreateVolume and the volume object: one of each in the end',
    needs,
    restarts: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const proxy = ctx.cleanUp.use(await startApiProxy(ctx.testRun.controlPlane, ctx.testRun.clock));
      proxy.addRule({
        when: ({ request }) => request.method === 'POST' && request.path.startsWith('/api/v1/persistentvolumes'),
        fault: { kind: 'hang', point: 'before' },
      });
      const provisioner = await ctx.startProvisioner({ server: proxy.url });
      await createClaim(ctx, await createClass(ctx));
      const wrote = (): boolean =>
        proxy.requests.some(({ method, path }) => method === 'POST' && path.startsWith('/api/v1/persistentvolumes'));
      await ctx.eventually('the volume exists and its object is being written', wrote);

      await provisioner.kill();

      await assertOneVolume(ctx, driver, 2);
    },
  },
  {
    id: 'P-11',
    title: 'CreateVolume times out and the claim is deleted meanwhile: retried until answered, then cleaned up',
    needs,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const hang = await driver.control.addFault({ method: 'CreateVolume', action: { kind: 'hang' } });
      await ctx.startProvisioner({ args: ['--timeout=1s', '--retry-interval-start=500ms'] });
      await createClaim(ctx, await createClass(ctx));
      await ctx.eventually('a second attempt', async () => (await createCalls(driver)).length >= 2);
      await deleteClaim(ctx);
      const before = (await createCalls(driver)).length;
      await ctx.eventually('attempts go on without the claim', async () => (await createCalls(driver)).length > before);

      await driver.control.removeFault(hang);

      await ctx.eventually('the volume was created and deleted again', async () => {
        return (await deletedIds(driver)).length > 0 && (await driver.control.volumes()).length === 0;
      });
      assert.equal(namesOf(await createCalls(driver)).length, 1);
      assert.equal(new Set(await deletedIds(driver)).size, 1);
    },
  },
  {
    id: 'P-12',
    title: 'a refusal is reported to the user and retried with growing pauses; an infeasible request is not retried',
    needs,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await driver.control.addFault({
        method: 'CreateVolume',
        times: 3,
        action: { kind: 'fail', code: 'Internal', message: 'the array is on fire' },
      });
      const retryStartMs = 500;
      await ctx.startProvisioner({ args: [`--retry-interval-start=${retryStartMs}ms`] });
      const className = await createClass(ctx);
      await createClaim(ctx, className);
      await untilEvent(ctx, 'ProvisioningFailed', 'the array is on fire');
      await assertOneVolume(ctx, driver, 4);
      const began = (await createCalls(driver)).map(({ beganAtMs }) => beganAtMs);
      const pauses = began.slice(1).map((at, index) => at - began[index]!);
      // A busy machine makes the pauses longer and never shorter, so they are not compared with each other.
      const wanted = [1, 2, 4].map((factor) => factor * retryStartMs);
      assert.ok(
        pauses.every((pause, index) => pause >= wanted[index]!),
        `pauses of ${pauses.join(', ')} ms`,
      );

      const refusal = await driver.control.addFault({
        method: 'CreateVolume',
        action: { kind: 'fail', code: 'InvalidArgument', message: 'no such tier' },
      });
      await createClaim(ctx, className, { name: 'infeasible' });
      await untilEvent(ctx, 'ProvisioningFailed', /infeasible error.*no such tier/);
      await ctx.consistently({
        forMs: 4000,
        check: async () => assert.equal((await createCalls(driver)).length, 5),
      });
      assert.equal((await eventsOf(ctx, 'ProvisioningSucceeded')).length, 1);
      await deleteClaim(ctx, 'infeasible');
      await driver.control.removeFault(refusal);
    },
  },
];
