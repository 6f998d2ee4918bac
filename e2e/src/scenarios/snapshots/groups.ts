// SPDX-License-Identifier: Apache-2.0
/** S-10, S-12, S-24: a group of three volumes. */
import assert from 'node:assert/strict';
import {
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { callsOf } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import { untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createGroupCalls,
  createSnapshot,
  deleteGroup,
  deleteSnapshot,
  deleteSnapshotCalls,
  type Member,
  readyToSnapshot,
  snapshotOf,
  takeGroup,
  untilGone,
  untilGroupReady,
  untilNoSnapshots,
  untilReady,
} from './steps.ts';

const needs = ['driver-faults', 'driver-journal', 'driver-settings'] as const;
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
    exclusive: ['snapshot-controller'],
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
    exclusive: ['snapshot-controller'],
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
  {
    id: 'S-24',
    title:
      'a retained group of the storage is imported: the group and two of its three members are bound and ready, and go by one call',
    needs,
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const taken = await retainedGroup(ctx);
      await importGroup(ctx, taken);
      const { metadata } = await untilGroupReady(ctx, 'imported');
      for (const name of ['first', 'second']) {
        await untilReady(ctx, name);
        const owner = await ctx.eventually(`${name} belongs to the group`, async () => {
          const snapshot = await snapshotOf(ctx, name);
          assert.equal(snapshot.status?.volumeGroupSnapshotName, 'imported');
          return snapshot.metadata?.ownerReferences?.[0];
        });
        assert.deepEqual([owner.kind, owner.name, owner.uid], ['VolumeGroupSnapshot', 'imported', metadata?.uid]);
      }
      assert.equal((await ctx.driver.control.snapshots()).length, 3);
      assert.equal(new Set((await createGroupCalls(ctx)).map(({ request }) => request.name)).size, 1);

      await ctx.api.delete(volumeGroupSnapshots, { namespace: ctx.namespace, name: 'imported' });
      await untilGone(ctx, volumeGroupSnapshots, 'imported');
      await untilNoSnapshots(ctx);
      const deletions = await callsOf(ctx.driver, '/csi.v1.GroupController/DeleteVolumeGroupSnapshot');
      assert.deepEqual(
        deletions.map(({ request }) => [request.group_snapshot_id, [...request.snapshot_ids].sort()]),
        [[taken.handle, [...taken.members].sort()]],
      );
      assert.deepEqual(await deleteSnapshotCalls(ctx), []);
    },
  },
];

/** A group in the storage, and what it consists of. */
interface TakenGroup {
  readonly handle: string;
  readonly members: readonly string[];
}

/** A group that is left in the storage when its objects are gone. */
async function retainedGroup(ctx: ScenarioContext): Promise<TakenGroup> {
  const members = [...(await takeGroup(ctx, await readyToSnapshot(ctx, { claims }))).values()];
  const { status } = await ctx.api.get(volumeGroupSnapshots, { namespace: ctx.namespace, name: 'group' });
  const ref = { name: status?.boundVolumeGroupSnapshotContentName ?? '' };
  const body = { spec: { deletionPolicy: 'Retain' } };
  await ctx.api.patch({ resource: volumeGroupSnapshotContents, ref }, { type: 'merge', body });
  await ctx.api.delete(volumeGroupSnapshots, { namespace: ctx.namespace, name: 'group' });
  await untilGone(ctx, volumeGroupSnapshots, 'group');
  for (const { content } of members) await untilGone(ctx, volumeSnapshotContents, content);
  await ctx.api.delete(volumeGroupSnapshotContents, ref);
  await untilGone(ctx, volumeGroupSnapshotContents, ref.name);
  const [group] = await ctx.driver.control.groups();
  assert.ok(group !== undefined, 'the storage still has the group');
  return { handle: group.id, members: group.snapshotIds };
}

/** As an administrator does: contents by hand, with references that have no UID. One member is left out. */
async function importGroup(ctx: ScenarioContext, { handle, members }: TakenGroup): Promise<void> {
  const name = ctx.nameOf('imported');
  const { namespace, driverName: driver } = ctx;
  await ctx.create(volumeGroupSnapshotContents, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotContent',
    metadata: { name },
    spec: {
      deletionPolicy: 'Delete',
      driver,
      source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: handle, volumeSnapshotHandles: [...members] } },
      volumeGroupSnapshotRef: { namespace, name: 'imported' },
    },
  });
  for (const [at, snapshot] of ['first', 'second'].entries()) {
    const content = ctx.nameOf(`imported-${snapshot}`);
    await ctx.create(volumeSnapshotContents, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotContent',
      metadata: { name: content },
      spec: {
        deletionPolicy: 'Delete',
        driver,
        source: { snapshotHandle: members[at] ?? '' },
        volumeSnapshotRef: { namespace, name: snapshot },
      },
    });
    await createSnapshot(ctx, { name: snapshot, source: { volumeSnapshotContentName: content } });
  }
  await ctx.create(volumeGroupSnapshots, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshot',
    metadata: { name: 'imported' },
    spec: { source: { volumeGroupSnapshotContentName: name } },
  });
}
