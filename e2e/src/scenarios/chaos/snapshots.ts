// SPDX-License-Identifier: Apache-2.0
/** Z-12: both snapshot programs are killed repeatedly, at moments that the run's seed decides (`--seed` repeats them). */
import assert from 'node:assert/strict';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { seededRandom } from '@csi-sidecars/runtime/testing';
import { type VolumeSnapshotContent, volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
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
  untilNoSnapshots,
} from '../snapshots/steps.ts';
import { createDisruption, share } from './disruption.ts';
import { planKills } from './kills.ts';
import { assertRepeatable } from './repeatable.ts';
import { insist, unlessThere } from './volumes.ts';

const snapshots = 200;
/** The share of the kills that happen during creation; the others happen while the snapshots are deleted. */
const whileCreating = 0.6;
const convergeMs = 180_000;

export const snapshotChaos: readonly Scenario[] = [
  {
    id: 'Z-12',
    title: `twenty kills of csi-snapshotter, snapshot-controller, driver and API server while ${snapshots} snapshots come and go (a tenth without --full): one in the storage for each, then none`,
    needs: ['driver-faults', 'driver-journal', 'driver-settings', 'api-server-control'],
    exclusive: ['api-server'],
    restarts: true,
    run: async (ctx) => {
      await installDefinitions(ctx);
      await startPlainDriver(ctx);
      await ctx.startProvisioner();
      await boundClaims(ctx, ['claim']);
      const volumeSnapshotClassName = await createSnapshotClass(ctx);
      const args = [
        ...quickRetries,
        '--leader-election',
        `--leader-election-namespace=${ctx.namespace}`,
        '--kube-api-qps=200',
        '--kube-api-burst=400',
      ];
      const sidecars = {
        'csi-snapshotter': await ctx.startSidecar('csi-snapshotter', { args: [...args, '--worker-threads=4'] }),
        'snapshot-controller': await ctx.startSidecar('snapshot-controller', { args }),
      };
      const names = Array.from({ length: ctx.many(snapshots) }, (_, index) => `snap-${index}`);
      const plan = planKills(seededRandom(ctx.testRun.seed), {
        driver: ctx.many(6),
        'csi-snapshotter': ctx.many(6),
        'snapshot-controller': ctx.many(5),
        'kube-apiserver': ctx.many(3),
      });
      const later = Math.ceil(plan.length * whileCreating);
      const disruption = createDisruption(ctx, { sidecars, methods: ['CreateSnapshot', 'DeleteSnapshot'] });

      await disruption.disturb(
        plan.slice(0, later),
        (part) =>
          insist(ctx, share(names, part), (name) =>
            unlessThere(createSnapshot(ctx, { name, volumeSnapshotClassName })),
          ),
        names.length,
      );
      await disruption.calm();
      await assertOneEach(ctx, names.length);
      await disruption.disturb(
        plan.slice(later),
        (part) => insist(ctx, share(names, part), (name) => deleteSnapshot(ctx, name)),
        names.length,
      );
      await disruption.calm();
      await untilNoSnapshots(ctx, convergeMs);
      await ctx.eventually('the claim is free', async () => {
        const claim = await ctx.api.get(persistentVolumeClaims, { namespace: ctx.namespace, name: 'claim' });
        return (claim.metadata?.finalizers ?? []).every((finalizer) => !finalizer.startsWith('snapshot.storage'));
      });

      const least = { driver: ctx.many(3), 'csi-snapshotter': ctx.many(3) };
      ctx.note(`seed ${ctx.testRun.seed}: ${await disruption.assertHits(least)}`);
      const [created, deleted] = [await createSnapshotCalls(ctx), await deleteSnapshotCalls(ctx)];
      ctx.note(`${created.length} calls for ${names.length} snapshots, ${deleted.length} for their deletion`);
    },
  },
];

async function contentsOf({ api, driverName }: ScenarioContext): Promise<readonly VolumeSnapshotContent[]> {
  return (await api.list(volumeSnapshotContents)).items.filter(({ spec }) => spec?.driver === driverName);
}

/** Every snapshot is ready with a content of its own, and the storage holds exactly those snapshots, each by its object's name. */
async function assertOneEach(ctx: ScenarioContext, count: number): Promise<void> {
  const objects = await ctx.eventually(
    `all ${count} snapshots are ready`,
    async () => {
      const { items } = await ctx.api.list(volumeSnapshots, { namespace: ctx.namespace });
      return items.length === count && items.every(({ status }) => status?.readyToUse === true) ? items : undefined;
    },
    convergeMs,
  );
  const sorted = (list: readonly (string | undefined)[]): readonly string[] =>
    list.map((text) => text ?? '').toSorted();
  const wanted = sorted(objects.map(({ metadata }) => `snapshot-${metadata?.uid}`));
  const contents = await contentsOf(ctx);
  const stored = await ctx.driver.control.snapshots();
  assert.deepEqual(sorted(stored.map(({ name }) => name)), wanted);
  assert.deepEqual(
    sorted(contents.map(({ metadata }) => metadata?.name)),
    sorted(objects.map(({ status }) => status?.boundVolumeSnapshotContentName)),
  );
  assert.deepEqual(sorted(contents.map(({ status }) => status?.snapshotHandle)), sorted(stored.map(({ id }) => id)));
  const idOf = (response: unknown): string | undefined =>
    (response as { readonly snapshot?: { readonly snapshot_id?: string } }).snapshot?.snapshot_id;
  assertRepeatable(await createSnapshotCalls(ctx), { names: new Set(wanted), idOf });
}
