// SPDX-License-Identifier: Apache-2.0
/** H-01 to H-03 and H-05: the leader dies, leaves, freezes, or is cut off. Nothing is lost and nothing is done twice. */
import assert from 'node:assert/strict';
import { createCalls } from '../../driver/calls.ts';
import { startApiProxy } from '../../faults/api-proxy.ts';
import type { Need } from '../needs.ts';
import type { Scenario } from '../scenario.ts';
import { createClass } from '../provisioner/steps.ts';
import { assertConverged, createClaims, unthrottled, untilInFlight } from './claims.ts';
import { holderOf, leaseMs, renewMs, retryMs, startReplicas, takeOverMs, untilLed, untilRenewed } from './replicas.ts';

const needs: readonly Need[] = ['host-names', 'driver-faults', 'driver-journal'];
const claims = 50;

export const leaders: readonly Scenario[] = [
  {
    id: 'H-01',
    title: `the leader is killed with ${claims} claims in flight: the other takes over in time, one volume each`,
    needs,
    shared: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const { clock } = ctx.testRun;
      const driver = await ctx.startDriver();
      await driver.control.addFault({ method: 'CreateVolume', action: { kind: 'delay', ms: 1000 } });
      const replicas = await startReplicas(ctx, { args: unthrottled });
      const leader = await untilLed(ctx, replicas);
      await createClaims(ctx, await createClass(ctx), claims);
      await untilInFlight(ctx);

      const killedMs = clock.monotonicMs();
      await leader.process.destroy();
      await untilLed(ctx, replicas, { by: (name) => name !== leader.name });
      const tookMs = clock.monotonicMs() - killedMs;

      assert.ok(tookMs <= takeOverMs * ctx.testRun.timeFactor, `the take-over took ${tookMs} ms`);
      await assertConverged(ctx, claims);
    },
  },
  {
    id: 'H-02',
    title:
      'the leader is asked to go (ReleaseLeaderElectionOnExit): it finishes its call, frees the lease, the other takes over',
    needs,
    shared: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const { clock } = ctx.testRun;
      const driver = await ctx.startDriver();
      await driver.control.addFault({ method: 'CreateVolume', at: 'during', action: { kind: 'delay', ms: 2000 } });
      const replicas = await startReplicas(ctx, { args: ['--feature-gates=ReleaseLeaderElectionOnExit=true'] });
      const leader = await untilLed(ctx, replicas);
      await createClaims(ctx, await createClass(ctx), 1);
      await ctx.eventually('a call is in flight', async () => (await createCalls(driver)).length === 1);

      await leader.process.stop();
      const stoppedMs = clock.monotonicMs();
      await untilLed(ctx, replicas, { by: (name) => name !== leader.name });
      const tookMs = clock.monotonicMs() - stoppedMs;

      assert.ok(tookMs <= (2.2 * retryMs + 2000) * ctx.testRun.timeFactor, `the take-over took ${tookMs} ms`);
      await assertConverged(ctx, 1);
    },
  },
  {
    id: 'H-03',
    title: 'the leader freezes and thaws when another leads: it makes no further call and no write but ends',
    upstream: 'still works off what its old watches bring, before it notices that it lost the lease',
    needs,
    restarts: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const replicas = await startReplicas(ctx);
      const leader = await untilLed(ctx, replicas);
      await untilRenewed(ctx, leader);
      const className = await createClass(ctx);
      leader.process.signal('SIGSTOP');
      await untilLed(ctx, replicas, { by: (name) => name !== leader.name });
      await createClaims(ctx, className, 10);
      await assertConverged(ctx, 10);
      const calls = (await createCalls(driver)).length;

      leader.process.signal('SIGCONT');
      await ctx.eventually('the former leader has ended', () => leader.process.exits.length > 0);

      assert.equal(leader.process.exits[0]?.code, 1);
      assert.notEqual(await holderOf(ctx, leader.program), leader.name);
      assert.equal((await createCalls(driver)).length, calls);
    },
  },
  {
    id: 'H-05',
    title: 'only the leader loses the API server: it ends after the renew deadline, the other takes over',
    needs,
    shared: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const { clock, controlPlane } = ctx.testRun;
      await ctx.startDriver();
      const proxies = {
        'replica-a': ctx.cleanUp.use(await startApiProxy(controlPlane, clock)),
        'replica-b': ctx.cleanUp.use(await startApiProxy(controlPlane, clock)),
      };
      const servers = { 'replica-a': proxies['replica-a'].url, 'replica-b': proxies['replica-b'].url };
      const replicas = await startReplicas(ctx, { servers });
      const leader = await untilLed(ctx, replicas);
      await untilRenewed(ctx, leader);
      const className = await createClass(ctx);

      const cutMs = clock.monotonicMs();
      await proxies[leader.name as keyof typeof proxies].cut();
      await createClaims(ctx, className, 10);
      await ctx.eventually('the leader has ended', () => leader.process.exits.length > 0);
      const endedMs = clock.monotonicMs() - cutMs;
      await untilLed(ctx, replicas, { by: (name) => name !== leader.name });

      assert.equal(leader.process.exits[0]?.code, 1);
      const limitMs = (renewMs + leaseMs) * ctx.testRun.timeFactor;
      assert.ok(endedMs <= limitMs, `the leader ended after ${endedMs} ms`);
      await assertConverged(ctx, 10);
      await proxies[leader.name as keyof typeof proxies].heal();
    },
  },
];
