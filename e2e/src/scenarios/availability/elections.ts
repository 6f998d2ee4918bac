// SPDX-License-Identifier: Apache-2.0
/** H-16: the elections of the programs that other scenarios run without replicas. */
import assert from 'node:assert/strict';
import type { ControllerName } from '../../processes/program.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { startReplicas, takeOverMs, untilLed, untilRenewed } from './replicas.ts';

const programs: readonly ControllerName[] = ['csi-attacher', 'csi-resizer'];

export const elections: readonly Scenario[] = [
  {
    id: 'H-16',
    title:
      'two replicas of csi-attacher and of csi-resizer: the leader of each is killed, and the other takes over in time',
    needs: ['host-names'],
    shared: ['cores'],
    restarts: true,
    run: async (ctx) => {
      await ctx.startDriver();
      await Promise.all(programs.map((program) => takesOver(ctx, program)));
    },
  },
];

async function takesOver(ctx: ScenarioContext, program: ControllerName): Promise<void> {
  const { clock, timeFactor } = ctx.testRun;
  const replicas = await startReplicas(ctx, { program });
  const leader = await untilLed(ctx, replicas);
  await untilRenewed(ctx, leader);
  const diedMs = clock.monotonicMs();
  await leader.process.destroy();
  await untilLed(ctx, replicas, { by: (name) => name !== leader.name });
  const tookMs = clock.monotonicMs() - diedMs;
  assert.ok(tookMs <= takeOverMs * timeFactor, `${program}: the take-over took ${tookMs} ms`);
}
