// SPDX-License-Identifier: Apache-2.0
/** expansions by the controller, and what gets in their way. */
import assert from 'node:assert/strict';
import { untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  ask,
  assertGrown,
  expandCalls,
  quickRetries,
  readyToGrow,
  resizeStatus,
  sizesOf,
  untilSize,
  untilStatus,
  withoutNode,
} from './steps.ts';

const method = 'ControllerExpandVolume';
const needs = ['driver-journal', 'driver-settings'] as const;

export const expanding: readonly Scenario[] = [
  {
    id: 'R-04',
    title: 'a claim grows without its node: it has its size, its node needs no expansion, and both events are written',
    needs: ['expansion-recovery', ...needs],
    run: async (ctx) => {
      await readyToGrow(ctx, { driver: withoutNode });
      await ask(ctx, '2Gi');
      const { metadata, status } = await untilSize(ctx, '2Gi');

      assert.equal(metadata?.annotations?.['volume.kubernetes.io/node-expansion-not-required'], 'true');
      assert.equal(status?.allocatedResources?.['storage'], '2Gi');
      await assertGrown(ctx, '2Gi');
      assert.deepEqual(sizesOf(await expandCalls(ctx)), ['2Gi']);
      await untilEvent(ctx, 'Resizing', 'External resizer is resizing volume');
      await untilEvent(ctx, 'VolumeResizeSuccessful', 'Resize volume succeeded');
    },
  },
  {
    id: 'R-06',
    title:
      'a size that the driver refuses shows as infeasible; the user lowers the request, and the claim has that size',
    needs: ['expansion-recovery', 'driver-faults', ...needs],
    run: async (ctx) => {
      await readyToGrow(ctx, { driver: withoutNode });
      const rule = await ctx.driver.control.addFault({
        method,
        action: { kind: 'fail', code: 'OutOfRange', message: 'too large' },
      });
      await ask(ctx, '4Gi');
      const { status } = await untilStatus(
        ctx,
        'is infeasible',
        (it) => resizeStatus(it) === 'ControllerResizeInfeasible',
      );
      const error = status?.conditions?.find(({ type }) => type === 'ControllerResizeError');
      assert.match(error?.message ?? '', /code = OutOfRange desc = too large$/);
      await untilEvent(ctx, 'VolumeResizeFailed', 'too large');
      await ctx.driver.control.removeFault(rule);
      await ask(ctx, '2Gi');

      await untilSize(ctx, '2Gi');
      await assertGrown(ctx, '2Gi');
    },
  },
  {
    id: 'R-08',
    title:
      'the driver crashes after it has expanded the volume: the call is repeated, and there is one size in the end',
    needs: ['driver-faults', ...needs],
    restarts: true,
    run: async (ctx) => {
      await readyToGrow(ctx, { driver: withoutNode });
      await ctx.driver.control.addFault({ method, at: 'after', action: { kind: 'crash' } });
      await ask(ctx, '2Gi');

      await untilSize(ctx, '2Gi');
      await assertGrown(ctx, '2Gi');
      assert.deepEqual(new Set(sizesOf(await expandCalls(ctx))), new Set(['2Gi']));
      assert.equal(ctx.driver.process.exits.length, 1, 'the driver crashed once');
    },
  },
  {
    id: 'R-09',
    title:
      'the request is raised again while the first call hangs: the last one wins, nothing shrinks, no calls overlap',
    upstream: 'its write after the call conflicts with that of the user, so it repeats the call for the old size',
    needs: ['driver-faults', ...needs],
    run: async (ctx) => {
      await readyToGrow(ctx, { driver: withoutNode, args: ['--timeout=1m', ...quickRetries] });
      const hang = await ctx.driver.control.addFault({ method, action: { kind: 'hang' } });
      await ask(ctx, '2Gi');
      await ctx.eventually('a call hangs', async () => (await expandCalls(ctx)).length === 1);
      await ask(ctx, '3Gi');
      await ctx.consistently({
        forMs: 1_500,
        check: async () => assert.equal((await expandCalls(ctx)).length, 1),
      });
      await ctx.driver.control.removeFault(hang);

      await untilSize(ctx, '3Gi');
      await assertGrown(ctx, '3Gi');
      assert.deepEqual(sizesOf(await expandCalls(ctx)), ['2Gi', '3Gi']);
    },
  },
];
