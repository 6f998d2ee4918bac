// SPDX-License-Identifier: Apache-2.0
/** P-18 to P-20: how a claim and its class determine a CreateVolume request. */
import assert from 'node:assert/strict';
import { type PolicyRule, secrets, volumeAttributesClasses } from '@csi-sidecars/runtime';
import { createCalls } from '../../driver/calls.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass, untilBound, untilEvent } from './steps.ts';

const readSecrets: PolicyRule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };
/** Missing in upstream's file, although the code needs it. */
const readAttributesClasses: PolicyRule = {
  apiGroups: ['storage.k8s.io'],
  resources: ['volumeattributesclasses'],
  verbs: ['get'],
};

export const requests: readonly Scenario[] = [
  {
    id: 'P-18',
    title: 'the parameters of a VolumeAttributesClass reach the driver, its name the volume object',
    needs: ['attributes-classes', 'driver-journal'],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      if (ctx.testRun.rbac === 'stock') await ctx.grant('csi-provisioner', 'attributes', [readAttributesClasses]);
      await ctx.startProvisioner();
      const attributesClass = ctx.nameOf('gold');
      await ctx.create(volumeAttributesClasses, {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttributesClass',
        metadata: { name: attributesClass },
        driverName: ctx.driverName,
        parameters: { iops: '5000', throughput: '250' },
      });
      const className = await createClass(ctx, { parameters: { tier: 'fast' } });
      await createClaim(ctx, className, { spec: { volumeAttributesClassName: attributesClass } });

      const { volume } = await untilBound(ctx);

      const [call, ...others] = await createCalls(driver);
      assert.deepEqual(others, []);
      assert.deepEqual(call?.request.mutable_parameters, { iops: '5000', throughput: '250' });
      assert.deepEqual(call?.request.parameters, { tier: 'fast' });
      assert.equal(volume.spec?.volumeAttributesClassName, attributesClass);
    },
  },
  {
    id: 'P-19',
    title: 'a provisioner secret from templates is read per attempt; without it there is no call',
    needs: ['driver-journal'],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.grant('csi-provisioner', 'secrets', [readSecrets]);
      await ctx.startProvisioner();
      const className = await createClass(ctx, {
        parameters: {
          'csi.storage.k8s.io/provisioner-secret-name': '${pvc.name}-credentials',
          'csi.storage.k8s.io/provisioner-secret-namespace': '${pvc.namespace}',
        },
      });
      await createClaim(ctx, className);
      await untilEvent(ctx, 'ProvisioningFailed', 'secret claim-credentials in namespace');
      assert.deepEqual(await createCalls(driver), []);

      await ctx.create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'claim-credentials' },
        stringData: { user: 'storage-user', password: 'pässword' },
      });
      const { volume } = await untilBound(ctx);

      const [call, ...others] = await createCalls(driver);
      assert.deepEqual(others, []);
      assert.deepEqual(call?.request.secrets, { user: 'storage-user', password: 'pässword' });
      assert.deepEqual(call?.request.parameters, {});
      const prefix = 'volume.kubernetes.io/provisioner-deletion-secret';
      assert.equal(volume.metadata?.annotations?.[`${prefix}-name`], 'claim-credentials');
      assert.equal(volume.metadata?.annotations?.[`${prefix}-namespace`], ctx.namespace);
    },
  },
  {
    id: 'P-20',
    title: '--extra-create-metadata names claim and volume to the driver',
    needs: ['driver-journal'],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner({ args: ['--extra-create-metadata'] });
      const className = await createClass(ctx, { parameters: { tier: 'fast' } });
      await createClaim(ctx, className);

      const { volume } = await untilBound(ctx);

      const [call] = await createCalls(driver);
      assert.deepEqual(call?.request.parameters, {
        tier: 'fast',
        'csi.storage.k8s.io/pvc/name': 'claim',
        'csi.storage.k8s.io/pvc/namespace': ctx.namespace,
        'csi.storage.k8s.io/pv/name': volume.metadata?.name,
      });
    },
  },
];
