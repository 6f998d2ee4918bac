// SPDX-License-Identifier: Apache-2.0
/** P-30 to P-32: claims of an in-tree plugin, which the PV controller leaves to the driver that replaced it. */
import assert from 'node:assert/strict';
import { persistentVolumes, type StorageClass } from '@csi-sidecars/runtime';
import { createCalls, deletedIds } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, deleteClaim, findVolume, untilBound, untilEvent, untilVolumeGone } from './steps.ts';

const plugin = 'kubernetes.io/aws-ebs';
const zoneKey = 'topology.ebs.csi.aws.com/zone';
const zone = 'us-east-1a';
const provisionedBy = 'pv.kubernetes.io/provisioned-by';

async function createInTreeClass(
  ctx: ScenarioContext,
  provisioner: string,
  parts: Partial<StorageClass> = {},
): Promise<string> {
  return await createClass(ctx, { provisioner, ...parts });
}

export const migration: readonly Scenario[] = [
  {
    id: 'P-30',
    title:
      'a claim of an in-tree plugin: translated class, in-tree volume with labels of Kubernetes, deleted by its handle',
    // The simulated controller-manager does not know which driver replaced a plugin.
    needs: ['controller-manager', 'driver-journal', 'driver-settings'],
    driverName: 'ebs.csi.aws.com',
    run: async (ctx) => {
      const nodes = [
        { id: 'node-1', segments: { [zoneKey]: zone }, maxVolumes: 0 },
        { id: 'node-2', segments: { [zoneKey]: 'us-east-1b' }, maxVolumes: 0 },
      ];
      const driver = await ctx.startDriver({ settings: { nodes } });
      await ctx.startProvisioner();
      const className = await createInTreeClass(ctx, plugin, {
        parameters: { fsType: 'ext4', zone, iopsPerGB: '10' },
        reclaimPolicy: 'Delete',
      });
      await createClaim(ctx, className);

      const { volume } = await untilBound(ctx);
      const [call, ...others] = await createCalls(driver);
      assert.deepEqual(others, []);
      assert.deepEqual(call?.request.parameters, { iopsPerGB: '10', allowautoiopspergbincrease: 'true' });
      assert.deepEqual(call.request.accessibility_requirements?.requisite, [{ segments: { [zoneKey]: zone } }]);
      const [made] = await driver.control.volumes();
      assert.deepEqual(volume.spec?.awsElasticBlockStore, { volumeID: made?.id, fsType: 'ext4' });
      assert.equal(volume.spec?.csi, undefined);
      assert.equal(volume.metadata?.annotations?.[provisionedBy], plugin);
      const labels = { 'topology.kubernetes.io/zone': zone, 'topology.kubernetes.io/region': 'us-east-1' };
      assert.deepEqual(volume.metadata?.labels, labels);

      await deleteClaim(ctx);
      await untilVolumeGone(ctx, volume.metadata?.name ?? '');
      assert.deepEqual(await deletedIds(driver), [made?.id]);
    },
  },
  {
    id: 'P-31',
    title: 'a volume that cannot be recorded as one of the in-tree plugin is deleted again, and the event says why',
    needs: ['controller-manager', 'driver-journal'],
    driverName: 'pd.csi.storage.gke.io',
    upstream: 'the volume stays in the storage',
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner();
      await createClaim(ctx, await createInTreeClass(ctx, 'kubernetes.io/gce-pd'));

      await untilEvent(ctx, 'ProvisioningFailed', 'failed to get id components');
      const [call] = await createCalls(driver);
      await ctx.eventually('the volume is deleted', async () => (await deletedIds(driver)).length > 0);
      assert.equal(await findVolume(ctx, call?.request.name ?? ''), undefined);
      await deleteClaim(ctx);
      await ctx.eventually('nothing is left', async () => (await driver.control.volumes()).length === 0);
    },
  },
  {
    id: 'P-32',
    title: 'claims of an in-tree plugin during kills of csi-provisioner: each gets one in-tree volume, and all go',
    needs: ['controller-manager', 'driver-journal', 'driver-faults'],
    driverName: 'cinder.csi.openstack.org',
    restarts: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      const provisioner = await ctx.startProvisioner({ args: ['--retry-interval-max=2s'] });
      const className = await createInTreeClass(ctx, 'kubernetes.io/cinder', { reclaimPolicy: 'Delete' });
      const names = Array.from({ length: ctx.many(100) }, (_, index) => `claim-${index}`);
      await Promise.all(names.map((name) => createClaim(ctx, className, { name })));
      for (let kill = 0; kill < 3; kill++) {
        const before = (await createCalls(driver)).length;
        await ctx.eventually(
          'calls go on',
          async () => (await createCalls(driver)).length > before || before >= names.length,
        );
        await provisioner.kill();
      }

      const handles = new Set<string>();
      for (const name of names) {
        const { volume } = await untilBound(ctx, name, 120_000);
        handles.add(volume.spec?.cinder?.volumeID ?? '');
      }
      const made = (await driver.control.volumes()).map(({ id }) => id);
      assert.deepEqual([...handles].toSorted(), made.toSorted());
      await Promise.all(names.map((name) => deleteClaim(ctx, name)));
      await ctx.eventually(
        'all volumes are gone',
        async () => (await ctx.api.list(persistentVolumes)).items.every(({ spec }) => spec?.cinder === undefined),
        120_000,
      );
      assert.deepEqual(await driver.control.volumes(), []);
    },
  },
];
