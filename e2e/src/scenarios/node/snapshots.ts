// SPDX-License-Identifier: Apache-2.0
/** S-22, S-23: snapshots of volumes to which a pod on a real kubelet writes, restored for another pod. */
import assert from 'node:assert/strict';
import { deployAll, deploySnapshotController } from '../../deployment/deploy.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { endPod } from '../pod-life.ts';
import { type Bound, createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteGroup,
  deleteSnapshot,
  fromSnapshot,
  installDefinitions,
  takeGroup,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';
import { countsLines, makesProgress, reads, startUser, stillWrites, startWriter, untilSaid } from './user-steps.ts';

const file = '/data/file';
/** The driver freezes it while it takes a snapshot. */
const fileSystem = { layout: 'filesystem', 'csi.storage.k8s.io/fstype': 'xfs' };
const folders = ['data', 'two', 'three'];

export const nodeSnapshots: readonly Scenario[] = [
  {
    id: 'S-22',
    title:
      'a snapshot while a pod writes, restored for another pod: the file from before, every line until then, no gap; the writer goes on',
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const className = await deployForSnapshots(ctx);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      await createClaim(ctx, className);
      const written = await startWriter(ctx, file);
      await makesProgress(ctx, 'writer');
      const least = Number(await untilSaid(ctx, 'writer', 'line'));
      await createSnapshot(ctx, { volumeSnapshotClassName });
      await untilReady(ctx);
      await stillWrites(ctx, 'writer');
      const most = Number(await untilSaid(ctx, 'writer', 'line'));

      await createClaim(ctx, className, { name: 'restored', spec: fromSnapshot('snap') });
      const script = [...reads(file), ...countsLines('data')];
      await startUser(ctx, { name: 'reader', volume: claimed('restored'), script });
      assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
      const lines = Number(await untilSaid(ctx, 'reader', 'data'));
      assert.ok(
        lines >= least && lines <= most,
        `${lines} lines, at least ${least} and at most ${most} were to be there`,
      );
      ctx.note(`${lines} lines, of ${least} to ${most}`);
      await stillWrites(ctx, 'writer');
      for (const name of ['reader', 'writer']) await endPod(ctx, name);
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
  {
    id: 'S-23',
    title:
      'a group of three volumes while a pod writes to them in turn, restored for another pod: they differ by one line at most',
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const className = await deployForSnapshots(ctx);
      for (const name of folders) await createClaim(ctx, className, { name });
      const bound: Bound[] = [];
      for (const name of folders) bound.push(await untilBound(ctx, name));
      const more = { two: claimed('two'), three: claimed('three') };
      await startUser(ctx, { name: 'writer', volume: claimed('data'), more, script: writesInTurn });
      await untilSaid(ctx, 'writer', 'line');
      await makesProgress(ctx, 'writer');
      const least = Number(await untilSaid(ctx, 'writer', 'line'));
      const members = await takeGroup(ctx, bound);
      await stillWrites(ctx, 'writer');
      const most = Number(await untilSaid(ctx, 'writer', 'line'));

      for (const name of folders) {
        const { snapshot } = members.get(name)!;
        await untilReady(ctx, snapshot);
        await createClaim(ctx, className, { name: `from-${name}`, spec: fromSnapshot(snapshot) });
      }
      await startUser(ctx, {
        name: 'reader',
        volume: claimed('from-data'),
        more: { two: claimed('from-two'), three: claimed('from-three') },
        script: folders.flatMap(countsLines),
      });
      const counts: number[] = [];
      for (const name of folders) counts.push(Number(await untilSaid(ctx, 'reader', name)));
      const [first = NaN, , last = NaN] = counts;
      const isOneMoment = first - last <= 1 && first - last >= 0 && last >= least && first <= most;
      assert.ok(isOneMoment, `${counts.join(', ')} lines, of ${least} to ${most}`);
      ctx.note(`${counts.join(', ')} lines, of ${least} to ${most}`);
      for (const name of ['reader', 'writer']) await endPod(ctx, name);
      await deleteGroup(ctx);
    },
  },
];

/** A line to each volume, one after the other, as often as it can; then the line is said. */
const writesInTurn = [
  'i=0',
  `while true; do i=$((i + 1)); for each in ${folders.join(' ')}; do echo $i >> /$each/lines; done; echo "line $i"; sleep 0.05; done &`,
];

/** Resolves with the class for file systems that can be frozen. */
async function deployForSnapshots(ctx: ScenarioContext): Promise<string> {
  await installDefinitions(ctx);
  await deployAll(ctx, { controllers: ['csi-provisioner', 'csi-attacher', 'csi-snapshotter'] });
  await deploySnapshotController(ctx);
  return await createClass(ctx, { parameters: fileSystem });
}
