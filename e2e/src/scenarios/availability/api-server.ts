// SPDX-License-Identifier: Apache-2.0
/** H-04, H-06 and H-07: the API server is down, has compacted its history, or throttles. */
import assert from 'node:assert/strict';
import { createCalls } from '../../driver/calls.ts';
import { startApiProxy } from '../../faults/api-proxy.ts';
import { restartCorePrograms } from '../chaos/disruption.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Need } from '../needs.ts';
import type { Scenario } from '../scenario.ts';
import { assertConverged, createClaims, unthrottled, untilInFlight } from './claims.ts';

const needs: readonly Need[] = ['driver-faults', 'driver-journal'];

export const apiServer: readonly Scenario[] = [
  {
    id: 'H-04',
    title: 'the API server is away for some seconds under load: no process ends, and no operation is done twice',
    needs: [...needs, 'api-server-control'],
    exclusive: ['api-server'],
    run: async (ctx) => {
      const { clock, controlPlane } = ctx.testRun;
      const driver = await ctx.startDriver();
      await driver.control.addFault({ method: 'CreateVolume', action: { kind: 'delay', ms: 500 } });
      await ctx.startProvisioner({
        args: ['--leader-election', `--leader-election-namespace=${ctx.namespace}`, ...unthrottled],
      });
      const claims = 30;
      await createClaims(ctx, await createClass(ctx), claims);
      await untilInFlight(ctx);

      const server = controlPlane.components.get('kube-apiserver');
      assert.ok(server !== undefined);
      await server.kill();
      await clock.sleep(3000, ctx.signal);
      await server.start();
      await restartCorePrograms(ctx);

      await assertConverged(ctx, claims);
    },
  },
  {
    id: 'H-06',
    title: 'changes behind a broken watch and a compacted history are not missed',
    needs: [...needs, 'api-server-control', 'compaction'],
    exclusive: ['api-server'],
    run: async (ctx) => {
      const { clock, controlPlane } = ctx.testRun;
      const driver = await ctx.startDriver();
      const proxy = ctx.cleanUp.use(await startApiProxy(controlPlane, clock));
      await ctx.startProvisioner({ server: proxy.url });
      const className = await createClass(ctx);
      await createClaim(ctx, className, { name: 'before' });
      await untilBound(ctx, 'before');

      await proxy.cut();
      await createClaims(ctx, className, 5);
      await controlPlane.compact();
      // Its watch cache would still contain what etcd has compacted.
      const server = controlPlane.components.get('kube-apiserver');
      await server?.kill();
      await server?.start();
      await proxy.heal();
      await restartCorePrograms(ctx);

      await assertConverged(ctx, 6);
      assert.equal((await createCalls(driver)).length, 6);
    },
  },
  {
    id: 'H-07',
    title: 'the API server answers 429 with Retry-After, then 500: requests are retried at its pace, without a crash',
    needs,
    run: async (ctx) => {
      const { clock, controlPlane } = ctx.testRun;
      await ctx.startDriver();
      const proxy = ctx.cleanUp.use(await startApiProxy(controlPlane, clock));
      await ctx.startProvisioner({ server: proxy.url });
      const className = await createClass(ctx);
      await createClaim(ctx, className, { name: 'before' });
      await untilBound(ctx, 'before');

      const throttledUntilMs = clock.monotonicMs() + 7000;
      const brokenUntilMs = throttledUntilMs + 3000;
      proxy.addRule({
        when: () => clock.monotonicMs() < throttledUntilMs,
        times: Infinity,
        fault: { kind: 'status', point: 'before', code: 429, reason: 'TooManyRequests', retryAfter: '3' },
      });
      proxy.addRule({
        when: () => clock.monotonicMs() < brokenUntilMs,
        times: Infinity,
        fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      });
      const seen = proxy.requests.length;
      await createClaims(ctx, className, 10);
      await clock.sleep(brokenUntilMs - clock.monotonicMs(), ctx.signal);
      const during = proxy.requests.slice(seen);

      await assertConverged(ctx, 11);

      // Per claim an event and the volume object, each retried every three seconds, and then with backoff.
      assert.ok(during.length <= 125, `${during.length} requests in 10 s`);
    },
  },
];
