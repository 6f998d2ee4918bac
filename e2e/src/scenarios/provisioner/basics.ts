// SPDX-License-Identifier: Apache-2.0
/** P-01, P-03, P-04, P-26, P-27: the life of a volume when nothing goes wrong. */
import assert from 'node:assert/strict';
import { type PersistentVolume, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import { createCalls, deletedIds } from '../../driver/calls.ts';
import { anAttachment, aVolume } from '../objects.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, deleteClaim, findVolume, untilBound, untilEvent, untilVolumeGone } from './steps.ts';

const gib = 1024n ** 3n;
const provisionedBy = 'pv.kubernetes.io/provisioned-by';
const finalizer = 'external-provisioner.volume.kubernetes.io/finalizer';

async function untilDeletedOnce(ctx: ScenarioContext, { metadata, spec }: PersistentVolume): Promise<void> {
  await untilVolumeGone(ctx, metadata?.name ?? '');
  await ctx.onDriver(async () => assert.deepEqual(await deletedIds(ctx.driver), [spec?.csi?.volumeHandle]));
}

export const basics: readonly Scenario[] = [
  {
    id: 'P-01',
    title: 'a claim of an Immediate class gets exactly one volume, described correctly',
    needs: [],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner();
      const className = await createClass(ctx, {
        parameters: { tier: 'fast', 'csi.storage.k8s.io/fstype': 'ext4' },
      });
      await createClaim(ctx, className);

      const { claim, volume } = await untilBound(ctx);

      const uid = claim.metadata?.uid;
      await ctx.onDriver(async () => {
        const [call, ...more] = await createCalls(driver);
        assert.deepEqual(more, []);
        assert.equal(call?.request.name, `pvc-${uid}`);
        assert.equal(call.request.capacity_range?.required_bytes, String(gib));
        assert.deepEqual(call.request.parameters, { tier: 'fast' });
        assert.deepEqual(
          call.request.volume_capabilities.map(({ mount, access_mode }) => [mount?.fs_type, access_mode?.mode]),
          [['ext4', 'SINGLE_NODE_MULTI_WRITER']],
        );
        const stored = await driver.control.volumes();
        assert.deepEqual(
          stored.map(({ id }) => id),
          [volume.spec?.csi?.volumeHandle],
        );
      });
      assert.equal(volume.metadata?.name, `pvc-${uid}`);
      assert.equal(volume.metadata?.annotations?.[provisionedBy], ctx.driverName);
      assert.ok(volume.metadata?.finalizers?.includes(finalizer));
      assert.equal(volume.spec?.csi?.driver, ctx.driverName);
      assert.equal(volume.spec?.storageClassName, className);
      assert.equal(volume.spec?.persistentVolumeReclaimPolicy, 'Delete');
      assert.equal(volume.spec?.capacity?.['storage'], '1Gi');
      assert.equal(volume.spec?.claimRef?.uid, uid);
      await untilEvent(ctx, 'ProvisioningSucceeded', `Successfully provisioned volume pvc-${uid}`);
    },
  },
  {
    id: 'P-03',
    title: 'deleting a claim with policy Delete deletes the volume once, after the release',
    upstream: 'repeats DeleteVolume when the volume object changes during the deletion',
    needs: [],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx));
      const { volume } = await untilBound(ctx);

      await deleteClaim(ctx);
      await untilDeletedOnce(ctx, volume);

      await ctx.onDriver(async () => assert.deepEqual(await driver.control.volumes(), []));
    },
  },
  {
    id: 'P-04',
    title: 'policy Retain keeps the volume; patched to Delete it is deleted once',
    upstream: 'repeats DeleteVolume when the volume object changes during the deletion',
    needs: [],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner();
      await createClaim(ctx, await createClass(ctx, { reclaimPolicy: 'Retain' }));
      const { volume } = await untilBound(ctx);
      const name = volume.metadata?.name ?? '';
      await deleteClaim(ctx);
      await ctx.eventually(
        'the volume object is released',
        async () => (await findVolume(ctx, name))?.status?.phase === 'Released',
      );
      await ctx.consistently({
        forMs: 2000,
        check: async () => {
          assert.ok((await findVolume(ctx, name)) !== undefined);
          await ctx.onDriver(async () => assert.deepEqual(await deletedIds(driver), []));
        },
      });

      const body = { spec: { persistentVolumeReclaimPolicy: 'Delete' } };
      await ctx.api.patch({ resource: persistentVolumes, ref: { name } }, { type: 'merge', body });
      await untilDeletedOnce(ctx, volume);
    },
  },
  {
    id: 'P-26',
    title: 'a released volume is not deleted while it is attached',
    upstream: 'repeats DeleteVolume when the volume object changes during the deletion',
    needs: ['driver-settings'],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const claim = await createClaim(ctx, await createClass(ctx));
      const name = `pvc-${claim.metadata?.uid}`;
      const attachment = ctx.nameOf('attachment');
      // Before csi-provisioner starts, so that its cache holds it: two watches are not ordered among each other.
      const attached = { attacher: ctx.driverName, volumeName: name, nodeName: ctx.nameOf('node') };
      await ctx.create(volumeAttachments, anAttachment(attachment, attached));
      await ctx.startProvisioner();
      const { volume } = await untilBound(ctx);

      await deleteClaim(ctx);
      await ctx.eventually('the volume object is released', async () => {
        return (await findVolume(ctx, name))?.status?.phase === 'Released';
      });
      await ctx.consistently({
        forMs: 3000,
        check: async () => {
          assert.ok((await findVolume(ctx, name)) !== undefined);
          await ctx.onDriver(async () => assert.deepEqual(await deletedIds(driver), []));
        },
      });

      await ctx.api.delete(volumeAttachments, { name: attachment });
      await untilDeletedOnce(ctx, volume);
    },
  },
  {
    id: 'P-27',
    title: 'a volume that was created by hand is bound without CreateVolume and deleted by its policy',
    needs: [],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner();
      const className = await createClass(ctx);
      const name = ctx.nameOf('static');
      const csi = { driver: ctx.driverName, volumeHandle: 'made-by-hand' };
      const policy = { persistentVolumeReclaimPolicy: 'Delete', storageClassName: className };
      await ctx.create(persistentVolumes, {
        ...aVolume(name, csi, policy),
        // Without it the controller-manager looks for a plugin of its own and marks the volume as Failed.
        metadata: { name, annotations: { [provisionedBy]: ctx.driverName } },
      });
      await createClaim(ctx, className, { spec: { volumeName: name } });
      await untilBound(ctx);
      await ctx.eventually('the protection finalizer is there', async () => {
        return (await findVolume(ctx, name))?.metadata?.finalizers?.includes(finalizer);
      });

      await deleteClaim(ctx);
      await untilVolumeGone(ctx, name);

      await ctx.onDriver(async () => {
        assert.deepEqual(await createCalls(driver), []);
        assert.deepEqual(await deletedIds(driver), ['made-by-hand']);
      });
    },
  },
];
