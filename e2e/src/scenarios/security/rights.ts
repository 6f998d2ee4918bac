// SPDX-License-Identifier: Apache-2.0
/** rights that are missing. */
import assert from 'node:assert/strict';
import { type PolicyRule, secrets } from '@csi-sidecars/runtime';
import { createCalls } from '../../driver/calls.ts';
import { applyRbac, removeBindings } from '../../rbac/apply.ts';
import { extraRules, rbacObjects, rulesOf } from '../../rbac/profiles.ts';
import type { ServiceAccountRef } from '../../control-planes/control-plane.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, eventsOf, untilBound, untilEvent } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  boundClaims,
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  fromSnapshot,
  installDefinitions,
  snapshotOf,
  startPlainDriver,
  startSnapshotController,
  startSnapshotter,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';

const readSecrets: PolicyRule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };
const snapshotGroup = 'snapshot.storage.k8s.io';

export const missingRights: readonly Scenario[] = [
  {
    id: 'X-03',
    title:
      'without the right to read Secrets: a class without them works; one with them has an event that says so, and no call',
    needs: ['rbac', 'driver-journal'],
    refusals: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner({ args: ['--retry-interval-start=500ms', '--retry-interval-max=1s'] });
      await createClaim(ctx, await createClass(ctx, {}, 'plain'), { name: 'plain' });
      await untilBound(ctx, 'plain');
      const stringData = { password: 'p' };
      await ctx.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'credentials' }, stringData });
      const parameters = {
        'csi.storage.k8s.io/provisioner-secret-name': 'credentials',
        'csi.storage.k8s.io/provisioner-secret-namespace': ctx.namespace,
      };
      await createClaim(ctx, await createClass(ctx, { parameters }), { name: 'secret' });
      await untilEvent(ctx, 'ProvisioningFailed', /secrets "credentials" is forbidden/);
      assert.equal((await createCalls(driver)).length, 1);

      await ctx.grant('csi-provisioner', 'secrets', [readSecrets]);
      await untilBound(ctx, 'secret');
      const carried = (await createCalls(driver)).map(({ request }) => request.secrets);
      assert.deepEqual(carried, [{}, stringData]);
    },
  },
  {
    id: 'X-04',
    title:
      'with the rights of an older release, which only reads snapshots: a snapshot is restored, without protection',
    needs: ['rbac', 'driver-journal', 'driver-settings'],
    exclusive: ['snapshot-controller'],
    refusals: true,
    run: async (ctx) => {
      await installDefinitions(ctx);
      await startPlainDriver(ctx);
      const account = await oldAccount(ctx);
      await ctx.startProvisioner({ account });
      await startSnapshotter(ctx);
      await startSnapshotController(ctx);
      const [bound] = await boundClaims(ctx, ['claim']);
      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
      const { content } = await untilReady(ctx);
      const hang = await ctx.driver.control.addFault({ method: 'CreateVolume', action: { kind: 'hang' } });
      const className = bound?.claim.spec?.storageClassName ?? '';
      const known = (await createCalls(ctx.driver)).length;
      await createClaim(ctx, className, { name: 'restored', spec: fromSnapshot('snap') });
      await ctx.eventually('the volume is being made', async () => (await createCalls(ctx.driver)).length > known);
      const finalizers = (await snapshotOf(ctx)).metadata?.finalizers ?? [];
      assert.ok(finalizers.every((each) => !each.startsWith('provisioner.storage.kubernetes.io/')));
      await ctx.driver.control.removeFault(hang);
      await untilBound(ctx, 'restored');

      const source = (await createCalls(ctx.driver)).at(-1)?.request.volume_content_source;
      assert.equal(source?.snapshot?.snapshot_id, content.status?.snapshotHandle);
      assert.deepEqual(await eventsOf(ctx, 'ProvisioningFailed'), []);
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
];

/** An account for csi-provisioner that may do what upstream's file grants, but of snapshots only `get`. */
async function oldAccount(ctx: ScenarioContext): Promise<ServiceAccountRef> {
  const { api, namespace, driverName } = ctx;
  const account = { namespace, name: 'old-provisioner' };
  const stock = rbacObjects({ profile: 'stock', subject: 'external-provisioner' }, { namespace, driverName });
  const rules = [
    ...rulesOf(stock).filter(({ apiGroups }) => !apiGroups.includes(snapshotGroup)),
    { apiGroups: [snapshotGroup], resources: ['volumesnapshots', 'volumesnapshotcontents'], verbs: ['get'] },
  ];
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    ...extraRules(account, 'rights', rules),
  ];
  ctx.cleanUp.defer(() => removeBindings(api, objects));
  await applyRbac(api, objects);
  return account;
}
