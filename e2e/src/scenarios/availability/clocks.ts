// SPDX-License-Identifier: Apache-2.0
/** H-14: replicas whose wall clocks disagree. Only what a replica observes itself decides when a Lease has expired. */
import assert from 'node:assert/strict';
import { clockAhead } from '../../processes/clock-ahead.ts';
import type { ScenarioContext } from '../context.ts';
import { createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { assertConverged, createNamedClaims } from './claims.ts';
import {
  holderOf,
  leaseMs,
  leaseOf,
  retryMs,
  startReplica,
  takeOverMs,
  untilLed,
  untilRenewed,
  type Replica,
} from './replicas.ts';

const aheadMs = 120_000;
const program = 'csi-provisioner';

export const clocks: readonly Scenario[] = [
  {
    id: 'H-14',
    title:
      'the clock of one replica is two minutes ahead: a living leader keeps its Lease, on either side, and a dead one is replaced in time',
    needs: ['host-names', 'driver-journal', 'own-clocks'],
    shared: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const { clock, timeFactor } = ctx.testRun;
      await ctx.startDriver();
      const className = await createClass(ctx);
      const replica = async (name: string, env = {}): Promise<Replica> => ({
        program,
        name,
        process: await startReplica(ctx, { name, program, env }),
      });

      const ahead = await replica('replica-a', clockAhead(aheadMs));
      await untilRenewed(ctx, ahead);
      const { spec } = await leaseOf(ctx, program);
      assert.ok(Date.parse(spec?.renewTime ?? '') - clock.nowMs() > aheadMs / 2, 'the leader writes its own time');
      const usual = await replica('replica-b');
      await createNamedClaims(ctx, className, ['a-1', 'a-2', 'a-3']);
      await staysWith(ctx, ahead);

      const diedMs = clock.monotonicMs();
      await ahead.process.destroy();
      await untilLed(ctx, [usual]);
      const tookMs = clock.monotonicMs() - diedMs;
      assert.ok(tookMs <= takeOverMs * timeFactor, `the take-over took ${tookMs} ms`);

      // To the replica that is ahead, each renewal seems to be two minutes old.
      await ahead.process.start();
      await createNamedClaims(ctx, className, ['b-1', 'b-2', 'b-3']);
      await staysWith(ctx, usual);

      await assertConverged(ctx, 6);
      assert.deepEqual(usual.process.exits, []);
      assert.equal((await leaseOf(ctx, program)).spec?.leaseTransitions, 1);
    },
  },
];

/** For longer than a Lease lasts without a renewal. */
async function staysWith(ctx: ScenarioContext, { name }: Replica): Promise<void> {
  await ctx.consistently({
    forMs: (leaseMs + retryMs) * ctx.testRun.timeFactor,
    check: async () => assert.equal(await holderOf(ctx, program), name),
  });
}
