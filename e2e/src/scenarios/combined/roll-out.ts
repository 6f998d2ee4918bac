// SPDX-License-Identifier: Apache-2.0
/**
 * Z-14: an image swap in both directions: upstream's separate programs, one after the other replaced by our combined one, and back, while
 * volumes live their whole lives. Every controller has a lease that both know, so one of them works at a time.
 */
import assert from 'node:assert/strict';
import { createCalls } from '../../driver/calls.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import { leaseMs, renewMs, retryMs, holderOf } from '../availability/replicas.ts';
import { assertRepeatable } from '../chaos/repeatable.ts';
import type { ScenarioContext } from '../context.ts';
import { takeOverNeeds } from '../needs.ts';
import type { Scenario } from '../scenario.ts';
import { createSnapshotCalls } from '../snapshots/steps.ts';
import { assertNothingIsLeft, live, quick, setStage } from './life.ts';

const volumes = 300;
/** Few at a time, and slow calls: the lives last longer than the hand-overs. */
const atOnceOf = (count: number): number => Math.max(4, Math.ceil(count / 15));
const callMs = 400;
const slowMethods = [
  'CreateVolume',
  'DeleteVolume',
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'ControllerExpandVolume',
  'CreateSnapshot',
  'DeleteSnapshot',
] as const;
const programs = ['csi-provisioner', 'csi-attacher', 'csi-resizer', 'csi-snapshotter'] as const;
type Program = (typeof programs)[number];
const [theirs, ours] = ['upstream', 'combined'];

function election({ namespace }: ScenarioContext): readonly string[] {
  return [
    '--leader-election',
    `--leader-election-namespace=${namespace}`,
    `--leader-election-lease-duration=${leaseMs}ms`,
    `--leader-election-renew-deadline=${renewMs}ms`,
    `--leader-election-retry-period=${retryMs}ms`,
  ];
}

async function startTheirs(ctx: ScenarioContext, program: Program): Promise<SupervisedProcess> {
  return await ctx.startSidecar(program, {
    replica: theirs,
    implementation: 'upstream',
    args: [...election(ctx), ...quick],
  });
}

async function startOurs(ctx: ScenarioContext): Promise<SupervisedProcess> {
  const args = ['--controllers=provisioner,attacher,resizer,snapshotter', ...election(ctx), ...quick];
  return await ctx.startSidecar('csi-sidecars', { replica: ours, args });
}

async function untilHeld(ctx: ScenarioContext, program: Program, holder: string): Promise<void> {
  const isHeld = async (): Promise<boolean> => (await holderOf(ctx, program).catch(() => '')) === holder;
  await ctx.eventually(`${holder} leads for ${program}`, isHeld, 60_000);
}

export const combinedRollOut: readonly Scenario[] = [
  {
    id: 'Z-14',
    title: `upstream's separate programs and our combined one take over from each other, both ways, during the lives of ${volumes} volumes`,
    needs: takeOverNeeds,
    exclusive: ['snapshot-controller', 'cores'],
    restarts: true,
    run: async (ctx) => {
      const count = ctx.many(volumes);
      const stage = await setStage(ctx);
      for (const method of slowMethods) {
        await ctx.driver.control.addFault({ method, at: 'during', action: { kind: 'delay', ms: callMs } });
      }
      const separate = new Map<Program, SupervisedProcess>();
      for (const program of programs) separate.set(program, await startTheirs(ctx, program));
      for (const program of programs) await untilHeld(ctx, program, theirs);

      let begun = 0;
      let ended = 0;
      const liveOn = async (): Promise<void> => {
        while (begun < count) {
          begun += 1;
          await live(ctx, stage, begun);
          ended += 1;
        }
      };
      const lives = Promise.all(Array.from({ length: atOnceOf(count) }, liveOn));
      // Awaited below; a failure of a life ends the scenario there.
      lives.catch(() => undefined);
      const moreEnded = async (): Promise<void> => {
        const wanted = ended + count / 6;
        const enough = ctx.eventually(`${count / 6} more volumes are gone`, async () => ended >= wanted, 300_000);
        await Promise.race([lives, enough]);
      };

      await moreEnded();
      const combined = await startOurs(ctx);
      for (const program of programs) {
        await separate.get(program)?.stop();
        await untilHeld(ctx, program, ours);
      }
      const rolledOut = ended;
      await moreEnded();
      const beforeReturn = ended;
      for (const program of programs) separate.set(program, await startTheirs(ctx, program));
      await combined.destroy();
      for (const program of programs) await untilHeld(ctx, program, theirs);
      const rolledBack = ended;
      await lives;

      await assertNothingIsLeft(ctx);
      assert.ok(rolledOut < beforeReturn, 'no volume ended under the combined program');
      assert.ok(rolledBack < count, 'no volume ended after the return');
      const volumeCalls = await createCalls(ctx.driver);
      const snapshotCalls = await createSnapshotCalls(ctx);
      const names = (calls: readonly { readonly request: { readonly name: string } }[]): ReadonlySet<string> =>
        new Set(calls.map(({ request }) => request.name));
      assert.equal(names(volumeCalls).size, count);
      assert.equal(names(snapshotCalls).size, count);
      assertRepeatable(volumeCalls, { names: names(volumeCalls), idOf: (response) => idOf(response, 'volume') });
      assertRepeatable(snapshotCalls, { names: names(snapshotCalls), idOf: (response) => idOf(response, 'snapshot') });
      ctx.note(
        `${count} volumes: ${rolledOut} gone at the end of the roll-out, ${beforeReturn} at the begin of the return, ${rolledBack} at its end; ${volumeCalls.length} CreateVolume, ${snapshotCalls.length} CreateSnapshot`,
      );
    },
  },
];

function idOf(response: unknown, what: 'volume' | 'snapshot'): string | undefined {
  const found = (response as Readonly<Record<string, Readonly<Record<string, string>> | undefined>>)[what];
  return found?.[`${what}_id`];
}
