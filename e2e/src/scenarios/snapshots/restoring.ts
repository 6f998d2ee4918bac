// SPDX-License-Identifier: Apache-2.0
/** S-03, S-11: what is in a snapshot that was taken while a user writes. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeEmulator } from '@csi-sidecars/sim';
import { createCalls } from '../../driver/calls.ts';
import { addMountingNode } from '../../nodes/mounting-node.ts';
import { countLines, type LineWriter, startLines } from '../../workload/lines.ts';
import { checksumOf, writeData } from '../../workload/workload.ts';
import type { ScenarioContext } from '../context.ts';
import { endPod, untilRunning } from '../pod-life.ts';
import { createPod } from '../pods.ts';
import { type Bound, createClaim, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteGroup,
  deleteSnapshot,
  fromSnapshot,
  readyToSnapshot,
  takeGroup,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const needs = ['scheduler', 'driver-journal', 'driver-settings'] as const;

export const restoring: readonly Scenario[] = [
  {
    id: 'S-03',
    title:
      'a snapshot while a user writes, restored: what was written before is there, nothing of what came after, and no gap',
    needs,
    exclusive: ['snapshot-controller'],
    upstream: 'sometimes its csi-provisioner leaves its finalizer on the snapshot until a sweep, five minutes later',
    run: async (ctx) => {
      const [bound] = await readyToSnapshot(ctx);
      assert.ok(bound !== undefined);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const node = await addMountingNode(ctx, { name: ctx.nameOf('node') });
      const folder = await mount(ctx, node, bound);
      const before = await writeData(folder, 'before', 4);
      await using writer = await startLines(ctx.testRun.clock, [folder]);
      const least = await untilMoreLines(ctx, writer);
      await createSnapshot(ctx, { volumeSnapshotClassName });
      const { content } = await untilReady(ctx);
      const most = writer.complete() + 1;
      await untilMoreLines(ctx, writer);
      await writeData(folder, 'after', 1);
      await writer.stop();
      await unmount(ctx, bound);

      const restored = await restore(ctx, bound, 'snap');
      const copy = await mount(ctx, node, restored);
      assert.equal(await checksumOf(copy, 'before'), before.sha256);
      const lines = await countLines(copy);
      assert.ok(
        lines >= least && lines <= most,
        `${lines} lines, at least ${least} and at most ${most} were to be there`,
      );
      assert.equal(existsSync(join(copy, 'after')), false);
      ctx.note(`${lines} lines, of ${least} to ${most}`);
      const sources = (await createCalls(ctx.driver)).flatMap(({ request }) => request.volume_content_source ?? []);
      assert.deepEqual(
        [...new Set(sources.map(({ snapshot }) => snapshot?.snapshot_id))],
        [content.status?.snapshotHandle],
      );
      await unmount(ctx, restored);
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-11',
    title: 'a group of three volumes while a user writes to them in turn, restored: they differ by one line at most',
    needs: ['private-mounts', ...needs],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      // Only a file system can be frozen.
      const storageClass = { parameters: { layout: 'filesystem', 'csi.storage.k8s.io/fstype': 'ext4' } };
      const bound = await readyToSnapshot(ctx, { claims: ['one', 'two', 'three'], storageClass });
      const node = await addMountingNode(ctx, { name: ctx.nameOf('node') });
      const folders: string[] = [];
      for (const each of bound) folders.push(await mount(ctx, node, each));
      await using writer = await startLines(ctx.testRun.clock, folders);
      const least = await untilMoreLines(ctx, writer);
      const members = await takeGroup(ctx, bound);
      const most = writer.complete() + 1;
      await writer.stop();
      for (const each of bound) await unmount(ctx, each);

      const counts: number[] = [];
      for (const each of bound) {
        const { snapshot } = members.get(each.claim.metadata?.name ?? '')!;
        await untilReady(ctx, snapshot);
        const restored = await restore(ctx, each, snapshot);
        counts.push(await countLines(await mount(ctx, node, restored)));
        await unmount(ctx, restored);
      }
      const [first, , last] = [counts[0]!, counts[1]!, counts[2]!];
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => b - a),
      );
      assert.ok(first - last <= 1 && last >= least && first <= most, `${counts.join(', ')}, of ${least} to ${most}`);
      ctx.note(`${counts.join(', ')} lines, of ${least} to ${most}`);
      await deleteGroup(ctx);
    },
  },
];

const nameOf = ({ claim }: Bound): string => claim.metadata?.name ?? '';

/** Runs a pod for the claim; resolves with the folder where its volume is mounted. */
async function mount(ctx: ScenarioContext, node: NodeEmulator, bound: Bound): Promise<string> {
  await createPod(ctx, { name: nameOf(bound), node, claim: nameOf(bound) });
  await untilRunning(ctx, nameOf(bound));
  const [path] = node.mounts().get(bound.volume.metadata?.name ?? '') ?? [];
  assert.ok(path !== undefined, 'a running pod has its volume mounted');
  return path;
}

async function unmount(ctx: ScenarioContext, bound: Bound): Promise<void> {
  await endPod(ctx, nameOf(bound));
}

async function restore(ctx: ScenarioContext, { claim }: Bound, snapshot: string): Promise<Bound> {
  const name = `from-${claim.metadata?.name}`;
  const spec = fromSnapshot(snapshot);
  await createClaim(ctx, claim.spec?.storageClassName ?? '', { name, spec });
  return await untilBound(ctx, name, 60_000);
}

/** Resolves with the number of lines that are complete then. */
async function untilMoreLines(ctx: ScenarioContext, writer: LineWriter): Promise<number> {
  const known = writer.complete();
  await ctx.eventually('lines are written', () => writer.complete() > known + 20);
  return writer.complete();
}
