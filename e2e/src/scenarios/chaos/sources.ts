// SPDX-License-Identifier: Apache-2.0
/** Z-13: csi-provisioner, driver and API server are killed while volumes are made from a snapshot and from a claim (`--seed` repeats it). */
import assert from 'node:assert/strict';
import { cloningProtection, snapshotSourceProtection } from '@csi-sidecars/provisioner';
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { seededRandom } from '@csi-sidecars/runtime/testing';
import { createClaim, createClass, deleteClaim, untilBound } from '../provisioner/steps.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  quickRetries,
  snapshotOf,
  startPlainDriver,
  startSnapshotController,
  startSnapshotter,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';
import { createDisruption, share } from './disruption.ts';
import { planKills } from './kills.ts';
import { assertOneVolumeEach, claimsOf, deleteClaimsDuring, insist, unlessThere } from './volumes.ts';

const ofEach = 200;
/** The share of the kills that happen during creation; the others happen while the claims are deleted. */
const whileCreating = 0.7;
const original = 'claim';

type ClaimSpec = Partial<NonNullable<PersistentVolumeClaim['spec']>>;
const restore: ClaimSpec = {
  dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' },
};
const clone: ClaimSpec = { dataSource: { kind: 'PersistentVolumeClaim', name: original } };

export const sourceChaos: readonly Scenario[] = [
  {
    id: 'Z-13',
    title: `twenty kills of csi-provisioner, driver and API server during ${ofEach} restores and ${ofEach} clones (a tenth without --full): one volume each, no finalizer left, then none`,
    needs: ['driver-faults', 'driver-journal', 'driver-settings', 'api-server-control'],
    exclusive: ['api-server'],
    restarts: true,
    run: async (ctx) => {
      await installDefinitions(ctx);
      await startPlainDriver(ctx);
      const sidecar = await ctx.startProvisioner({
        args: [
          ...quickRetries,
          '--leader-election',
          `--leader-election-namespace=${ctx.namespace}`,
          '--worker-threads=8',
          '--kube-api-qps=100',
          '--kube-api-burst=200',
        ],
      });
      await startSnapshotter(ctx);
      await startSnapshotController(ctx);
      const className = await createClass(ctx);
      await createClaim(ctx, className, { name: original });
      await untilBound(ctx, original);
      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
      await untilReady(ctx);

      const numbers = Array.from({ length: ctx.many(ofEach) }, (_, index) => index);
      const copies = numbers.flatMap((index) => [
        { name: `restore-${index}`, spec: restore },
        { name: `clone-${index}`, spec: clone },
      ]);
      const specs = new Map(copies.map(({ name, spec }) => [name, spec]));
      const names = [...specs.keys()];
      const plan = planKills(seededRandom(ctx.testRun.seed), {
        'csi-provisioner': Math.max(4, ctx.many(10)),
        driver: Math.max(3, ctx.many(7)),
        'kube-apiserver': ctx.many(3),
      });
      const later = Math.floor(plan.length * whileCreating);
      const disruption = createDisruption(ctx, {
        sidecars: { 'csi-provisioner': sidecar },
        methods: ['CreateVolume', 'DeleteVolume'],
      });

      await disruption.disturb(
        plan.slice(0, later),
        (part) =>
          insist(ctx, share(names, part), (name) =>
            unlessThere(createClaim(ctx, className, { name, spec: specs.get(name) ?? {} })),
          ),
        names.length,
      );
      await disruption.calm();
      await assertOneVolumeEach(ctx, names.length + 1);
      await assertFree(ctx);
      await releaseSources(ctx);
      await deleteClaimsDuring(ctx, { disruption, kills: plan.slice(later), names });

      const least = { driver: ctx.many(3), 'csi-provisioner': ctx.many(4) };
      ctx.note(`seed ${ctx.testRun.seed}: ${await disruption.assertHits(least)}`);
      ctx.note(`${names.length} volumes from two sources, ${disruption.kills.length} kills, no finalizer left`);
    },
  },
];

/** Nothing of csi-provisioner is on any object but the finalizer of the source claim, which stays until that is deleted. */
async function assertFree(ctx: ScenarioContext): Promise<void> {
  await ctx.eventually('the snapshot has no finalizer of csi-provisioner', async () => {
    const { metadata } = await snapshotOf(ctx);
    return metadata?.finalizers?.includes(snapshotSourceProtection) !== true;
  });
  const left = (await claimsOf(ctx)).flatMap(({ metadata }) =>
    (metadata?.finalizers ?? [])
      .filter((finalizer) => finalizer.includes('provisioner.storage.kubernetes.io'))
      .map((finalizer) => `${metadata?.name}: ${finalizer}`),
  );
  assert.deepEqual(left, [`${original}: ${cloningProtection}`]);
}

async function releaseSources(ctx: ScenarioContext): Promise<void> {
  await deleteSnapshot(ctx);
  await untilNoSnapshots(ctx);
  await deleteClaim(ctx, original);
  await ctx.eventually('the source claim is gone', async () =>
    (await claimsOf(ctx)).every(({ metadata }) => metadata?.name !== original),
  );
}
