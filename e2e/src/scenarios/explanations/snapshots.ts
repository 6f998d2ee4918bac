// SPDX-License-Identifier: Apache-2.0
/** O-10: what `csi-sidecars explain` says about snapshots that do not get ready, on a real API server. */
import assert from 'node:assert/strict';
import { ignoreNotFound, leases, persistentVolumeClaims } from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import type { ScenarioContext } from '../context.ts';
import { type Bound, deleteClaim } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { removeDefinitions } from '../snapshots/definitions.ts';
import {
  boundClaims,
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  startPlainDriver,
  startSnapshotController,
  startSnapshotter,
  untilGone,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';
import { minuteMs, startExplaining, type Explains } from './explaining.ts';

const otherDriver = 'other.e2e.csi.test';

export const explainSnapshots: readonly Scenario[] = [
  {
    id: 'O-10',
    title:
      'csi-sidecars explain: no definitions, no snapshot-controller, no csi-snapshotter, a class that is missing or of another driver, a claim that a snapshot holds: row, turn, exit code and sentence',
    needs: ['rbac', 'controller-manager', 'driver-faults', 'driver-settings'],
    exclusive: ['snapshot-controller', 'snapshot-definitions'],
    run: async (ctx) => {
      const explains = await startExplaining(ctx);
      await removeDefinitions(ctx, 'snapshot.storage.k8s.io', 'groupsnapshot.storage.k8s.io');
      await explains('vs/snap', {
        row: 'X100',
        code: 4,
        actor: 'administrator',
        sentence:
          'the API server does not serve VolumeSnapshot of snapshot.storage.k8s.io/v1: its CRDs are missing, or have other versions',
      });
      await installDefinitions(ctx);
      await startPlainDriver(ctx);
      await ctx.startProvisioner();
      const [, source] = await boundClaims(ctx, ['claim', 'source']);
      await missPrograms(ctx, explains);
      await holdTheClaim(ctx, explains, source!);
    },
  },
];

/** Cases 34 and 35. */
async function missPrograms(ctx: ScenarioContext, explains: Explains): Promise<void> {
  // Its Lease has the same name in every namespace, and namespaces of earlier scenarios go when they go.
  await ctx.eventually('no Lease of a snapshot-controller is left', async () => {
    const { items } = await ctx.api.list(leases);
    return items.every(({ metadata }) => metadata?.name !== 'snapshot-controller-leader');
  });
  const volumeSnapshotClassName = await createSnapshotClass(ctx);
  await createSnapshot(ctx, { volumeSnapshotClassName });
  const absent = (program: string): string => `no ${program} was found: no Lease, and no workload that runs it`;
  await explains(
    'vs/snap',
    { row: 'X6', code: 4, actor: 'administrator', sentence: absent('snapshot-controller') },
    { laterMs: 6 * minuteMs },
  );
  await startSnapshotController(ctx);
  await explains('vs/snap', {
    row: 'X6',
    code: 4,
    actor: 'administrator',
    sentence: absent('csi-snapshotter of DRIVER'),
  });
  const foreign = await createSnapshotClass(ctx, { driver: otherDriver }, 'foreign');
  await createSnapshot(ctx, { name: 'foreign', volumeSnapshotClassName: foreign });
  await explains('vs/foreign', {
    row: 'X102',
    code: 4,
    actor: 'user',
    sentence: `class NS-foreign is of driver ${otherDriver}, and the volume of DRIVER (row S12 of snapshot-controller)`,
  });
  await startSnapshotter(ctx);
  await untilReady(ctx);
  await explains('vs/snap', { row: 'X108', code: 0, actor: 'nobody', sentence: 'the snapshot is ready' });
  for (const name of ['snap', 'foreign']) await deleteSnapshot(ctx, name);
  await releaseForeign(ctx);
  await untilNoSnapshots(ctx);
}

/** Upstream's snapshot-controller makes a content for the other driver, which nobody releases. Ours makes none. */
async function releaseForeign({ api, namespace }: ScenarioContext): Promise<void> {
  const free = { type: 'merge', body: { metadata: { finalizers: null } } } as const;
  for (const { metadata, spec } of (await api.list(volumeSnapshotContents)).items) {
    if (spec?.driver !== otherDriver) continue;
    const ref = { name: metadata?.name ?? '' };
    await api.delete(volumeSnapshotContents, ref).catch(ignoreNotFound);
    await api.patch({ resource: volumeSnapshotContents, ref }, free).catch(ignoreNotFound);
  }
  const ref = { namespace, name: 'foreign' };
  await api.patch({ resource: volumeSnapshots, ref }, free).catch(ignoreNotFound);
}

/** Case 26. A snapshot that has begun and does not get ready holds its claim. With ours, one whose class is missing has not begun. */
async function holdTheClaim(ctx: ScenarioContext, explains: Explains, { volume }: Bound): Promise<void> {
  const source = { persistentVolumeClaimName: 'source' };
  const volumeSnapshotClassName = ctx.nameOf('snapshots');
  await createSnapshot(ctx, { name: 'good', source, volumeSnapshotClassName });
  await untilReady(ctx, 'good');
  const refusal = await ctx.driver.control.addFault({
    method: 'CreateSnapshot',
    volume: volume.spec?.csi?.volumeHandle ?? '',
    action: { kind: 'fail', code: 'InvalidArgument', message: 'no snapshots of this volume' },
  });
  await createSnapshot(ctx, { name: 'broken', source, volumeSnapshotClassName });
  const refused = 'the driver cannot take the snapshot, and says that it will not';
  await explains('vs/broken', { row: 'X104', code: 4, actor: 'administrator', sentence: refused });
  await deleteClaim(ctx, 'source');
  const { risk, error } = await explains('pvc/source', {
    row: 'X75',
    code: 4,
    actor: 'administrator',
    sentence: `snapshot NS/broken of the claim cannot get ready: ${refused} (X104)`,
  });
  assert.deepEqual([risk.level, risk.of, risk.ifYou], ['possible', 'loss', 'removeFinalizer']);
  assert.match(error?.text ?? '', /no snapshots of this volume/);
  await ctx.driver.control.removeFault(refusal);
  for (const name of ['broken', 'good']) {
    await deleteSnapshot(ctx, name);
    await untilGone(ctx, volumeSnapshots, name);
  }
  await untilGone(ctx, persistentVolumeClaims, 'source');
}
