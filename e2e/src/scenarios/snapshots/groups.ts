// SPDX-License-Identifier: Apache-2.0
/** S-10, S-12: a group of three volumes. */
import assert from 'node:assert/strict';
import { volumeGroupSnapshots, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import type { ScenarioContext } from '../context.ts';
import { untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createGroupCalls,
  deleteGroup,
  deleteSnapshot,
  deleteSnapshotCalls,
  type Member,
  readyToSnapshot,
  snapshotOf,
  takeGroup,
  untilGone,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const needs = ['driver-faults', 'driver-journal', 'driver-settings'] as const;
const serial = true;
const claims = ['one', 'two', 'three'];

/** A group snapshot of three claims beside one that it does not select, ready; its members by claim. */
async function readyGroup(ctx: ScenarioContext): Promise<ReadonlyMap<string, Member>> {
  const bound = await readyToSnapshot(ctx, { claims: [...claims, 'apart'] });
  return await takeGroup(
    ctx,
    bound.filter(({ claim }) => claim.metadata?.name !== 'apart'),
  );
}

export const groupSnapshots: readonly Scenario[] = [
  {
    id: 'S-10',
    title: 'a group of three claims: one call with three volumes, three members that belong to it, all ready',
    needs,
    serial,
    upstream: 'snapshots every claim of the namespace, because it ignores matchExpressions',
    run: async (ctx) => {
      const members = await readyGroup(ctx);
      const group = await ctx.api.get(volumeGroupSnapshots, { namespace: ctx.namespace, name: 'group' });
      for (const [claim, { snapshot: name, content: contentName }] of members) {
        const { snapshot, content } = await untilReady(ctx, name);
        assert.equal(content.metadata?.name, contentName);
        assert.equal(snapshot.spec?.source?.persistentVolumeClaimName, claim);
        assert.equal(snapshot.status?.volumeGroupSnapshotName, 'group');
        const [owner] = snapshot.metadata?.ownerReferences ?? [];
        assert.deepEqual([owner?.kind, owner?.name, owner?.uid], ['VolumeGroupSnapshot', 'group', group.metadata?.uid]);
      }
      const calls = await createGroupCalls(ctx);
      assert.equal(new Set(calls.map(({ request }) => request.name)).size, 1);
      assert.equal(calls[0]?.request.source_volume_ids.length, 3);
      assert.equal((await ctx.driver.control.snapshots()).length, 3);
      await deleteGroup(ctx);
    },
  },
  {
    id: 'S-12',
    title: 'a member alone is not deleted; the group goes with all of its members, by one call',
    needs,
    serial,
    upstream: 'snapshots every claim of the namespace, because it ignores matchExpressions',
    run: async (ctx) => {
      const members = [...(await readyGroup(ctx)).values()];
      const [first] = members;
      for (const { snapshot } of members) await untilReady(ctx, snapshot);
      await deleteSnapshot(ctx, first?.snapshot);
      await untilEvent(ctx, 'SnapshotDeletePending', 'as it belongs to group snapshot');
      assert.equal((await snapshotOf(ctx, first?.snapshot)).status?.readyToUse, true);
      assert.equal((await ctx.driver.control.snapshots()).length, 3);

      await ctx.api.delete(volumeGroupSnapshots, { namespace: ctx.namespace, name: 'group' });
      await untilGone(ctx, volumeGroupSnapshots, 'group');
      for (const { snapshot, content } of members) {
        await untilGone(ctx, volumeSnapshots, snapshot);
        await untilGone(ctx, volumeSnapshotContents, content);
      }
      await untilNoSnapshots(ctx);
      assert.deepEqual(await deleteSnapshotCalls(ctx), []);
    },
  },
];
