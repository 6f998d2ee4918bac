// SPDX-License-Identifier: Apache-2.0
/**
 * Z-02: our program and upstream's as leader and standby of one driver. Each finishes and deletes what the other has begun,
 * so either can be replaced by the other during work, in both directions.
 */
import assert from 'node:assert/strict';
import { leases } from '@csi-sidecars/runtime';
import { callsOf, createCalls } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaims } from '../availability/claims.ts';
import {
  startReplicas,
  takeTurns,
  untilCallBegins,
  untilLed,
  untilMoreCalls,
  type HandOver,
} from '../availability/replicas.ts';
import { createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { assertOneVolumeEach, claimsOf, deleteClaimsInsistently, untilNothingIsLeft } from './volumes.ts';

const claims = 200;

export const mixedImplementations: readonly Scenario[] = [
  {
    id: 'Z-02',
    title: `ours and upstream's take over from each other during ${claims} claims, and back: one Lease, one volume each`,
    needs: ['both-implementations', 'host-names', 'driver-faults', 'driver-journal', 'controller-manager'],
    exclusive: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      for (const method of ['CreateVolume', 'DeleteVolume']) {
        await driver.control.addFault({ method, at: 'during', action: { kind: 'delay', ms: 500 } });
      }
      const replicas = await startReplicas(ctx, {
        implementations: { 'replica-a': 'ours', 'replica-b': 'upstream' },
        args: ['--worker-threads=10', '--retry-interval-start=500ms', '--kube-api-qps=100', '--kube-api-burst=200'],
      });
      const first = await untilLed(ctx, replicas);
      const handOvers: HandOver[] = [];
      const handOver = async (): Promise<void> => void handOvers.push(await takeTurns(ctx, replicas));
      const leaderAt = (atMs: number): string => handOvers.find(({ goneMs }) => goneMs >= atMs)?.from ?? first.name;

      await createClaims(ctx, await createClass(ctx), claims);
      await untilMoreCalls(ctx, '/csi.v1.Controller/CreateVolume', 50);
      await untilCallBegins(ctx, '/csi.v1.Controller/CreateVolume');
      await handOver();
      await untilMoreCalls(ctx, '/csi.v1.Controller/CreateVolume', 50);
      await untilCallBegins(ctx, '/csi.v1.Controller/CreateVolume');
      await handOver();
      await assertOneVolumeEach(ctx, claims);

      const makers = await makersOf(ctx, leaderAt);
      const madeBy = async (maker: (name: string) => boolean): Promise<readonly string[]> =>
        (await claimsOf(ctx))
          .filter(({ metadata }) => maker(makers.get(`pvc-${metadata?.uid}`)?.at(-1) ?? ''))
          .map(({ metadata }) => metadata?.name ?? '');
      await deleteClaimsInsistently(ctx, await madeBy((name) => name !== first.name));
      await untilMoreCalls(ctx, '/csi.v1.Controller/DeleteVolume', 10);
      await handOver();
      await deleteClaimsInsistently(ctx, await madeBy((name) => name === first.name));
      await untilMoreCalls(ctx, '/csi.v1.Controller/DeleteVolume', 20);
      await handOver();
      await untilNothingIsLeft(ctx);

      const turns = [...makers.values()].map((names) => names.join(' '));
      const other = replicas.find(({ name }) => name !== first.name)!;
      assert.ok(
        turns.some((names) => names.includes(`${first.name} ${other.name}`)),
        'the other finished none',
      );
      assert.ok(
        turns.some((names) => names.includes(`${other.name} ${first.name}`)),
        'the first finished none',
      );
      const deletions = await callsOf(driver, '/csi.v1.Controller/DeleteVolume');
      const deleters = new Set(deletions.map(({ beganAtMs }) => leaderAt(beganAtMs)));
      assert.equal(deleters.size, 2);
      const { items } = await ctx.api.list(leases, { namespace: ctx.namespace });
      assert.deepEqual(
        items.map(({ spec }) => spec?.leaseTransitions),
        [handOvers.length],
      );
    },
  },
];

/** By volume name: the leaders that called CreateVolume for it, in order. */
async function makersOf(
  ctx: ScenarioContext,
  leaderAt: (atMs: number) => string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const calls = Map.groupBy(await createCalls(ctx.driver), ({ request }) => request.name);
  return new Map([...calls].map(([name, list]) => [name, list.map(({ beganAtMs }) => leaderAt(beganAtMs))]));
}
