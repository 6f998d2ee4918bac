// SPDX-License-Identifier: Apache-2.0
/** P-02: what a pod writes is there for the next pod. */
import assert from 'node:assert/strict';
import { createCalls } from '../../driver/calls.ts';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import { checksumOf, writeData } from '../../workload/workload.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod, mountedAt } from '../pods.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, untilBound } from './steps.ts';

const mebibytes = 64;

export const data: readonly Scenario[] = [
  {
    id: 'P-02',
    title: `WaitForFirstConsumer: ${mebibytes} MiB written by one pod are read by the next; nothing is made before a pod`,
    needs: ['scheduler'],
    run: async (ctx) => {
      const driver = await ctx.startDriver({ flags: ['--enable-attach=false'] });
      const node = await addMountingNode(ctx, { name: ctx.nameOf('node') });
      const runPod = async (name: string): Promise<string> => {
        await createPod(ctx, { name, node });
        await untilRunning(ctx, name);
        return mountedAt(node);
      };
      await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx, { volumeBindingMode: 'WaitForFirstConsumer' }));
      await ctx.consistently({
        forMs: 1000,
        check: () => ctx.onDriver(async () => assert.deepEqual(await createCalls(driver), [])),
      });

      const written = await writeData(await runPod('writer'), 'data', mebibytes);
      await untilBound(ctx);
      await endPod(ctx, 'writer');
      const read = await checksumOf(await runPod('reader'), written.file);
      await endPod(ctx, 'reader');

      assert.equal(read, written.sha256);
      await ctx.onDriver(async () => assert.equal((await createCalls(driver)).length, 1));
    },
  },
];
