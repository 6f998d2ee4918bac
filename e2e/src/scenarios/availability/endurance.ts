// SPDX-License-Identifier: Apache-2.0
/** H-12, H-13, H-15: a driver that comes and goes, one that starts slowly, and an API server that all replicas lose. */
import assert from 'node:assert/strict';
import { createCalls } from '../../driver/calls.ts';
import { startApiProxy } from '../../faults/api-proxy.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { assertConverged, createClaims } from './claims.ts';
import { renewMs, startReplicas, untilLed } from './replicas.ts';

/** How often the driver ends, and how long after the sidecar has worked with it. */
const ends = { full: { rounds: 9, afterMs: 20_000 }, tenth: { rounds: 3, afterMs: 500 } } as const;

export const endurance: readonly Scenario[] = [
  {
    id: 'H-12',
    title:
      'the driver ends every 20 s, nine times (thrice at once without --full): the sidecar ends and starts again each time, one volume for each claim',
    needs: ['driver-journal'],
    restarts: true,
    run: async (ctx) => {
      const { clock, load } = ctx.testRun;
      const { rounds, afterMs } = ends[load];
      const driver = await ctx.startDriver();
      const provisioner = await ctx.startProvisioner({
        args: ['--retry-interval-start=300ms', '--retry-interval-max=2s'],
      });
      const className = await createClass(ctx);
      for (let round = 0; round < rounds; round += 1) {
        await createClaim(ctx, className, { name: `claim-${round}` });
        await untilBound(ctx, `claim-${round}`, 60_000);
        await clock.sleep(afterMs, ctx.signal);
        await driver.process.kill();
        await ctx.eventually('the sidecar has ended', () => provisioner.exits.length > round);
      }

      await createClaim(ctx, className, { name: 'last' });
      await assertConverged(ctx, rounds + 1);
      assert.equal(provisioner.exits.length, rounds);
    },
  },
  {
    id: 'H-13',
    title: 'the driver is not ready at its start: the sidecars wait for it, without ending and without other calls',
    needs: ['driver-faults', 'driver-journal'],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const notReady = { kind: 'answer', set: { ready: { value: false } } } as const;
      const rule = await driver.control.addFault({ method: 'Probe', action: notReady });
      await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx));
      await ctx.eventually('the driver is probed', async () => (await probes()) > 1);
      await ctx.consistently({
        forMs: 5_000,
        check: async () => assert.deepEqual(await createCalls(driver), []),
      });
      await driver.control.removeFault(rule);

      await untilBound(ctx);

      async function probes(): Promise<number> {
        return (await driver.control.calls()).filter(({ method }) => method.endsWith('/Probe')).length;
      }
    },
  },
  {
    id: 'H-15',
    title:
      'both replicas lose the API server for longer than the Lease: one leads when it is back, and no work is lost',
    needs: ['host-names', 'driver-journal'],
    restarts: true,
    run: async (ctx) => {
      const { clock, controlPlane } = ctx.testRun;
      const driver = await ctx.startDriver();
      const proxies = [
        ctx.cleanUp.use(await startApiProxy(controlPlane, clock)),
        ctx.cleanUp.use(await startApiProxy(controlPlane, clock)),
      ] as const;
      const servers = { 'replica-a': proxies[0].url, 'replica-b': proxies[1].url };
      const replicas = await startReplicas(ctx, { servers });
      const leader = await untilLed(ctx, replicas);
      const className = await createClass(ctx);

      for (const proxy of proxies) await proxy.cut();
      await createClaims(ctx, className, 10);
      await ctx.eventually('the leader has ended', () => leader.process.exits.length > 0);
      await clock.sleep(renewMs, ctx.signal);
      assert.deepEqual(await createCalls(driver), []);
      for (const proxy of proxies) await proxy.heal();

      await assertConverged(ctx, 10);
      await untilLed(ctx, replicas);
      // The new leader may lose the API server too, if the machine is busy, and repeat a call whose volume is not recorded.
      assert.equal(new Set((await createCalls(driver)).map((call) => call.request.name)).size, 10);
    },
  },
];
