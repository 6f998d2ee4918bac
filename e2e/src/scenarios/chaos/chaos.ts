// SPDX-License-Identifier: Apache-2.0
/** Z-01: everybody is killed, again and again, at moments that the run's seed decides (`--seed` repeats them). */
import assert from 'node:assert/strict';
import { seededRandom } from '@csi-sidecars/runtime/testing';
import type { DriverInstance } from '../../driver/driver.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import type { ScenarioContext } from '../context.ts';
import { createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { callsHit, planKills, type Kill, type PlannedKill } from './kills.ts';
import {
  assertOneVolumeEach,
  createClaimsInsistently,
  deleteClaimsInsistently,
  untilNothingIsLeft,
} from './volumes.ts';

const claims = 200;
/** Of the twenty; the others come while the claims are deleted. */
const killsWhileCreating = 12;

export const chaos: readonly Scenario[] = [
  {
    id: 'Z-01',
    title: `twenty kills of sidecar, driver and API server while ${claims} claims come and go: one volume each, then none`,
    needs: ['driver-faults', 'driver-journal', 'api-server-control'],
    serial: true,
    restarts: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const sidecar = await ctx.startProvisioner({
        args: [
          '--leader-election',
          `--leader-election-namespace=${ctx.namespace}`,
          '--worker-threads=4',
          '--retry-interval-start=200ms',
          '--retry-interval-max=2s',
        ],
      });
      const className = await createClass(ctx);
      const names = Array.from({ length: claims }, (_, index) => `claim-${index}`);
      const plan = planKills(seededRandom(ctx.world.seed));
      const kills: Kill[] = [];
      const disturb = async (planned: readonly PlannedKill[], work: (names: readonly string[]) => Promise<void>) => {
        for (const [index, kill] of planned.entries()) {
          await slowDown(ctx, kill);
          const from = Math.floor((index * claims) / planned.length);
          const to = Math.floor(((index + 1) * claims) / planned.length);
          const [done] = await Promise.all([strike(ctx, kill, sidecar), work(names.slice(from, to))]);
          kills.push(done);
        }
      };

      await disturb(plan.slice(0, killsWhileCreating), (batch) => createClaimsInsistently(ctx, className, batch));
      await untilDriverIsBack(ctx);
      await assertOneVolumeEach(ctx, claims);
      await disturb(plan.slice(killsWhileCreating), (batch) => deleteClaimsInsistently(ctx, batch));
      await untilDriverIsBack(ctx);
      await untilNothingIsLeft(ctx);

      assertHits(kills, await driver.control.calls());
      assert.equal(driver.process.exits.length, kills.filter(({ victim }) => victim === 'driver').length);
    },
  },
];

/** The last victim may have been the driver. From now on nothing is slow. */
async function untilDriverIsBack(ctx: ScenarioContext): Promise<void> {
  await ctx.eventually('the driver is back', async () => {
    await ctx.driver.control.clearFaults();
    return true;
  });
}

/** Every call takes so long from now on, also of a driver that has just come back. */
async function slowDown(ctx: ScenarioContext, { delays }: PlannedKill): Promise<void> {
  const { control } = ctx.driver;
  await ctx.eventually('the driver takes fault rules', async () => {
    await control.clearFaults();
    for (const method of ['CreateVolume', 'DeleteVolume']) {
      await control.addFault({ method, at: 'during', action: { kind: 'delay', ms: delays.beforeMs } });
      await control.addFault({ method, at: 'after', action: { kind: 'delay', ms: delays.afterMs } });
    }
    return true;
  });
}

async function strike(ctx: ScenarioContext, planned: PlannedKill, sidecar: SupervisedProcess): Promise<Kill> {
  const { clock, controlPlane } = ctx.world;
  const { victim, afterMs } = planned;
  const bornMs = clock.nowMs();
  await clock.sleep(afterMs, ctx.signal);
  if (victim !== 'kube-apiserver') await untilCallIsOpen(ctx, bornMs);
  const atMs = clock.nowMs();
  switch (victim) {
    case 'driver':
      await ctx.driver.process.kill();
      break;
    case 'sidecar':
      await sidecar.kill();
      break;
    case 'kube-apiserver':
      await controlPlane.components.get(victim)?.kill();
  }
  const goneMs = clock.nowMs();
  if (victim === 'kube-apiserver') {
    await clock.sleep(afterMs, ctx.signal);
    await controlPlane.components.get(victim)?.start();
  }
  return { victim, atMs, goneMs };
}

/** Calls that began earlier may belong to a driver that is dead. */
async function untilCallIsOpen(ctx: ScenarioContext, bornMs: number): Promise<void> {
  await ctx.eventually('a call is under way', async () =>
    (await openCalls(ctx.driver)).some((beganAtMs) => beganAtMs > bornMs),
  );
}

async function openCalls({ control }: DriverInstance): Promise<readonly number[]> {
  const calls = await control.calls();
  return calls.filter(({ outcome }) => outcome === undefined).map(({ beganAtMs }) => beganAtMs);
}

function assertHits(kills: readonly Kill[], calls: Parameters<typeof callsHit>[1]): void {
  const changing = calls.filter(({ method }) => /\/(Create|Delete)Volume$/.test(method));
  const hits = callsHit(kills, changing);
  const hitting = (victim: Kill['victim']): number =>
    kills.filter((kill, index) => kill.victim === victim && hits[index]!.length > 0).length;
  assert.equal(kills.length, 20);
  assert.ok(hitting('driver') >= 5, `${hitting('driver')} kills of the driver hit a call`);
  assert.ok(hitting('sidecar') >= 5, `${hitting('sidecar')} kills of the sidecar hit a call`);
}
