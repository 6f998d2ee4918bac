// SPDX-License-Identifier: Apache-2.0
/**
 * Z-10 and Z-11: our snapshot programs and upstream's. Beside each other, because a cluster may swap one of the two images first; and as
 * leader and standby, because an image is swapped while snapshots are taken.
 */
import assert from 'node:assert/strict';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { startReplicas, takeTurns, untilLed, untilMoreCalls } from '../availability/replicas.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import {
  boundClaims,
  createSnapshot,
  createSnapshotCalls,
  createSnapshotClass,
  deleteSnapshot,
  deleteSnapshotCalls,
  installDefinitions,
  quickRetries,
  startPlainDriver,
  untilGone,
  untilGroupReady,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';

const needs = ['both-implementations', 'host-names', 'driver-faults', 'driver-journal', 'driver-settings'] as const;
const unthrottled = ['--kube-api-qps=100', '--kube-api-burst=200'];
const snapshots = 200;
/** Calls between two hand-overs. */
const turn = 40;

const pairs = [
  { controller: 'ours', snapshotter: 'upstream' },
  { controller: 'upstream', snapshotter: 'ours' },
] as const;

/** A snapshot and a group, taken and deleted. */
async function takeAndDelete(ctx: ScenarioContext, volumeSnapshotClassName: string): Promise<void> {
  await createSnapshot(ctx, { volumeSnapshotClassName });
  await createGroup(ctx);
  const { content } = await untilReady(ctx);
  assert.equal(content.metadata?.finalizers?.length, 1);
  await untilGroupReady(ctx);
  await ctx.eventually('the member is ready', async () => {
    const { items } = await ctx.api.list(volumeSnapshots, { namespace: ctx.namespace });
    return items.length === 2 && items.every(({ status }) => status?.readyToUse === true);
  });
  await deleteSnapshot(ctx);
  await ctx.api.delete(volumeGroupSnapshots, { namespace: ctx.namespace, name: 'group' });
  await untilGone(ctx, volumeGroupSnapshots, 'group');
  await untilNoSnapshots(ctx);
}

/** Upstream's snapshot-controller writes all annotations of a content, and may take csi-snapshotter's mark of a call under way with it. */
async function deleteDuringCall(ctx: ScenarioContext, volumeSnapshotClassName: string): Promise<void> {
  const before = (await createSnapshotCalls(ctx)).length;
  const hang = await ctx.driver.control.addFault({ method: 'CreateSnapshot', action: { kind: 'hang' } });
  await createSnapshot(ctx, { name: 'unwanted', volumeSnapshotClassName });
  await ctx.eventually('the call hangs', async () => (await createSnapshotCalls(ctx)).length > before);
  await deleteSnapshot(ctx, 'unwanted');
  await ctx.testRun.clock.sleep(1_000, ctx.signal);
  await ctx.driver.control.removeFault(hang);
  await untilNoSnapshots(ctx);
}

async function createGroup(ctx: ScenarioContext): Promise<void> {
  await ctx.create(volumeGroupSnapshots, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshot',
    metadata: { name: 'group' },
    spec: {
      volumeGroupSnapshotClassName: ctx.nameOf('groups'),
      source: { selector: { matchLabels: { app: 'db' } } },
    },
  });
}

async function prepare(ctx: ScenarioContext): Promise<string> {
  await installDefinitions(ctx);
  await startPlainDriver(ctx);
  await ctx.startProvisioner();
  await boundClaims(ctx, ['claim']);
  const claim = { resource: persistentVolumeClaims, ref: { namespace: ctx.namespace, name: 'claim' } };
  await ctx.api.patch(claim, { type: 'merge', body: { metadata: { labels: { app: 'db' } } } });
  await ctx.create(volumeGroupSnapshotClasses, {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotClass',
    metadata: { name: ctx.nameOf('groups') },
    driver: ctx.driverName,
    deletionPolicy: 'Delete',
  });
  return await createSnapshotClass(ctx);
}

export const snapshotMixedImplementations: readonly Scenario[] = [
  {
    id: 'Z-10',
    title:
      "our snapshot-controller with upstream's csi-snapshotter, and the reverse: a snapshot and a group, taken and deleted; with our csi-snapshotter, a deletion during a call",
    needs,
    exclusive: ['snapshot-controller', 'cores'],
    restarts: true,
    run: async (ctx) => {
      const volumeSnapshotClassName = await prepare(ctx);
      for (const { controller, snapshotter } of pairs) {
        const processes = [
          await ctx.startSidecar('snapshot-controller', { args: quickRetries, implementation: controller }),
          await ctx.startSidecar('csi-snapshotter', { args: quickRetries, implementation: snapshotter }),
        ];
        await takeAndDelete(ctx, volumeSnapshotClassName);
        if (snapshotter === 'ours') await deleteDuringCall(ctx, volumeSnapshotClassName);
        for (const process of processes) await process.stop();
      }
    },
  },
  {
    id: 'Z-11',
    title: `ours and upstream's snapshot programs take over from each other during ${snapshots} snapshots, in both directions`,
    needs,
    exclusive: ['snapshot-controller', 'cores'],
    restarts: true,
    run: async (ctx) => {
      const volumeSnapshotClassName = await prepare(ctx);
      const method = 'CreateSnapshot';
      await ctx.driver.control.addFault({ method, at: 'during', action: { kind: 'delay', ms: 300 } });
      const makes = {
        implementations: { 'replica-a': 'ours', 'replica-b': 'upstream' },
        args: [...quickRetries, ...unthrottled],
      } as const;
      const groups = [
        await startReplicas(ctx, { program: 'snapshot-controller', ...makes }),
        await startReplicas(ctx, { program: 'csi-snapshotter', ...makes }),
      ];
      for (const replicas of groups) await untilLed(ctx, replicas);
      const names = Array.from({ length: snapshots }, (_, at) => `snap-${at}`);
      await Promise.all(names.map((name) => createSnapshot(ctx, { name, volumeSnapshotClassName })));
      let handOvers = 0;
      for (let times = 0; times < 2; times += 1) {
        for (const replicas of groups) {
          await untilMoreCalls(ctx, `/csi.v1.Controller/${method}`, turn).catch(() => undefined);
          await takeTurns(ctx, replicas);
          handOvers += 1;
        }
      }

      await ctx.eventually(
        'all snapshots are ready',
        async () => {
          const { items } = await ctx.api.list(volumeSnapshots, { namespace: ctx.namespace });
          return items.length === snapshots && items.every(({ status }) => status?.readyToUse === true);
        },
        180_000,
      );
      const calls = await createSnapshotCalls(ctx);
      assert.equal(new Set(calls.map(({ request }) => request.name)).size, snapshots);
      assert.equal((await ctx.driver.control.snapshots()).length, snapshots);
      const { items } = await ctx.api.list(volumeSnapshotContents);
      assert.equal(items.filter(({ spec }) => spec?.driver === ctx.driverName).length, snapshots);
      await Promise.all(names.map((name) => deleteSnapshot(ctx, name)));
      for (const replicas of groups) await takeTurns(ctx, replicas);
      await untilNoSnapshots(ctx, 300_000);
      ctx.note(
        `${calls.length} calls for ${snapshots} snapshots, ${(await deleteSnapshotCalls(ctx)).length} for their deletion, ${handOvers + groups.length} hand-overs`,
      );
    },
  },
];
