// SPDX-License-Identifier: Apache-2.0
/** P-36: `csi-sidecars leftovers` after a csi-provisioner that ended in the middle of its work, with the rights on its page and no others. */
import assert from 'node:assert/strict';
import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import { leftoversRules, snapshotSourceProtection } from '@csi-sidecars/provisioner';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { openChannel } from '../../nodes/mounting-node.ts';
import { type Command, prepareCommand } from '../command.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { installDefinitions } from '../snapshots/steps.ts';
import { createClaim, createClass, deleteClaim, findVolume, untilBound, untilVolumeGone } from './steps.ts';

/** `stuck U3 unsettled pvc-...`, sorted. */
async function listed(run: Command): Promise<readonly string[]> {
  const { code, stdout, stderr } = await run('--output=json');
  assert.equal(code, 0, stderr);
  const { items } = JSON.parse(stdout) as { readonly items: readonly Readonly<Record<string, string | null>>[] };
  return items
    .map(({ name, row, verdict, volume }) => [name, row, verdict, volume].filter(Boolean).join(' '))
    .toSorted();
}

/** A snapshot from which a volume was made, as an earlier process left it. */
async function createSourceSnapshot(ctx: ScenarioContext): Promise<void> {
  const { api, namespace, driverName } = ctx;
  const content = ctx.nameOf('content');
  const apiVersion = 'snapshot.storage.k8s.io/v1';
  await ctx.create(volumeSnapshotContents, {
    apiVersion,
    kind: 'VolumeSnapshotContent',
    metadata: { name: content },
    spec: {
      driver: driverName,
      deletionPolicy: 'Retain',
      source: { snapshotHandle: 'handle' },
      volumeSnapshotRef: { namespace, name: 'source' },
    },
  });
  await ctx.create(volumeSnapshots, {
    apiVersion,
    kind: 'VolumeSnapshot',
    metadata: { name: 'source' },
    spec: { source: { volumeSnapshotContentName: content } },
  });
  const status = { boundVolumeSnapshotContentName: content, readyToUse: true };
  await api.patch(
    { resource: volumeSnapshots, ref: { namespace, name: 'source' } },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  );
  // Last: a csi-provisioner of another scenario takes it off a snapshot whose driver is not known yet.
  await api.patch(
    { resource: volumeSnapshots, ref: { namespace, name: 'source' } },
    { type: 'merge', body: { metadata: { finalizers: [snapshotSourceProtection] } } },
  );
}

export const leftovers: readonly Scenario[] = [
  {
    id: 'P-36',
    title:
      'csi-sidecars leftovers lists what a csi-provisioner left, removes what is safe, and the rest only with --include-unsettled',
    needs: ['driver-journal', 'driver-faults', 'driver-settings'],
    // It starts none, and one of another scenario would work on the snapshot.
    exclusive: ['snapshot-controller'],
    restarts: true,
    run: async (ctx) => {
      const { api, namespace } = ctx;
      await installDefinitions(ctx);
      const command = await prepareCommand(ctx, 'leftovers', leftoversRules);
      const run: Command = (...args) => command(`--driver=${ctx.driverName}`, ...args);
      const driver = await ctx.startDriver();
      const args = ['--timeout=1s', '--retry-interval-start=500ms'];
      const provisioner = await ctx.startProvisioner({ args, implementation: 'ours' });
      const className = await createClass(ctx);
      await createClaim(ctx, className, { name: 'kept' });
      const { volume } = await untilBound(ctx, 'kept');
      const volumeName = volume.metadata?.name ?? '';
      assert.deepEqual(await listed(run), []);

      // The volume is made, and the answer does not say so.
      const lost = await driver.control.addFault({
        method: 'CreateVolume',
        at: 'after',
        action: { kind: 'fail', code: 'DeadlineExceeded' },
      });
      const claim = await createClaim(ctx, className, { name: 'stuck' });
      await ctx.eventually('the claim has the provisioning finalizer', async () => {
        const { metadata } = await api.get(persistentVolumeClaims, { namespace, name: 'stuck' });
        return metadata?.finalizers?.some((finalizer) => finalizer.startsWith('provisioning-protection.'));
      });
      await provisioner.stop();
      await deleteClaim(ctx, 'stuck');
      await api.patch(
        { resource: persistentVolumes, ref: { name: volumeName } },
        { type: 'merge', body: { spec: { persistentVolumeReclaimPolicy: 'Retain' } } },
      );
      await createSourceSnapshot(ctx);
      const labels = {
        'csi.storage.k8s.io/drivername': ctx.driverName,
        'csi.storage.k8s.io/managed-by': 'external-provisioner',
      };
      const capacity: CSIStorageCapacity = { metadata: { name: 'csisc-1', labels }, storageClassName: className };
      await ctx.create(csiStorageCapacities, capacity);

      const stuck = `stuck U3 unsettled pvc-${claim.metadata?.uid}`;
      const safe = ['csisc-1 U14 safe', `${volumeName} U9 safe`, 'source U8 safe'];
      assert.deepEqual(await listed(run), [...safe, stuck].toSorted());

      const unconfirmed = await run('--remove');
      assert.equal(unconfirmed.code, 1);
      assert.match(unconfirmed.stderr, /Nothing was removed: confirm with --yes where there is no terminal/);
      assert.deepEqual(await listed(run), [...safe, stuck].toSorted());

      const removed = await run('--remove', '--yes');
      assert.equal(removed.code, 0, removed.stderr);
      assert.equal(removed.stdout.match(/^Removed /gm)?.length, 3, removed.stdout);
      assert.deepEqual(await listed(run), [stuck]);
      const left = await findVolume(ctx, volumeName);
      assert.deepEqual(
        left?.metadata?.finalizers,
        ['kubernetes.io/pv-protection'],
        'the object and its protection stay',
      );

      const settled = await run('--remove', '--yes', '--include-unsettled');
      assert.equal(settled.code, 0, settled.stderr);
      assert.match(settled.stdout, new RegExp(`volume pvc-${claim.metadata?.uid} may exist in the storage system`));
      await ctx.eventually('the claim is gone', async () => {
        const { items } = await api.list(persistentVolumeClaims, { namespace });
        return !items.some(({ metadata }) => metadata?.name === 'stuck');
      });
      const again = await run('--remove', '--yes', '--include-unsettled');
      assert.deepEqual([again.code, again.stdout.split('\n')[0]], [0, 'Nothing is left.']);

      // The volume that the command named is in the storage, and the administrator deletes it.
      await driver.control.removeFault(lost);
      const lostVolume = (await driver.control.volumes()).find(({ name }) => name === `pvc-${claim.metadata?.uid}`);
      assert.ok(lostVolume !== undefined, 'the name is that of the volume');
      const channel = await openChannel(ctx);
      const request = { volume_id: lostVolume.id };
      await channel.call('/csi.v1.Controller/DeleteVolume', request, { timeoutMs: 30_000, signal: ctx.signal });

      // Whichever provisioner follows goes on with what was kept.
      await ctx.remove(volumeSnapshots, 'source');
      await ctx.startProvisioner({ args: ['--retry-interval-start=500ms'] });
      await api.patch(
        { resource: persistentVolumes, ref: { name: volumeName } },
        { type: 'merge', body: { spec: { persistentVolumeReclaimPolicy: 'Delete' } } },
      );
      await deleteClaim(ctx, 'kept');
      await untilVolumeGone(ctx, volumeName);
    },
  },
];
