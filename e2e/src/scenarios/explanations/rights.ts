// SPDX-License-Identifier: Apache-2.0
/** O-09: what `csi-sidecars explain` says where a right is missing: its user's, or that of csi-resizer. */
import assert from 'node:assert/strict';
import { explainRules } from '@csi-sidecars/explain';
import { type PolicyRule, secrets } from '@csi-sidecars/runtime';
import { applyRbac, removeBindings } from '../../rbac/apply.ts';
import { extraRules, rbacObjects, rulesOf } from '../../rbac/profiles.ts';
import { startReplica } from '../availability/replicas.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import { ask, makeClass, plainDriver, wantClass } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import { type Explanation, minuteMs, readSecrets, startExplaining, type Explains } from './explaining.ts';
import { createProgramPod } from './program-pods.ts';

export const explainRights: readonly Scenario[] = [
  {
    id: 'O-09',
    title:
      'csi-sidecars explain: its user may not list workloads, may not read Secrets; csi-resizer may not list pods and attributes classes: row, turn, exit code and sentence',
    needs: ['rbac', 'controller-manager', 'driver-faults', 'driver-settings', 'host-names', 'attributes-classes'],
    refusals: true,
    run: async (ctx) => {
      const explains = await startExplaining(ctx);
      await ctx.startDriver(plainDriver);
      await lookWithFewRights(ctx, explains);
      await growWithFewRights(ctx, explains);
    },
  },
];

function without(rules: readonly PolicyRule[], ...resources: readonly string[]): readonly PolicyRule[] {
  return rules
    .map((rule) => ({ ...rule, resources: rule.resources.filter((each) => !resources.includes(each)) }))
    .filter((rule) => rule.resources.length > 0);
}

function lackingIn({ missing }: Explanation): readonly string[] {
  return [...new Set(missing.map(({ verb, resource, because }) => `${verb} ${resource} ${because}`))];
}

/** Cases 5 and 8. */
async function lookWithFewRights(ctx: ScenarioContext, explains: Explains): Promise<void> {
  const workloads = ['deployments', 'statefulsets', 'daemonsets'];
  const blind = await startExplaining(ctx, { name: 'no-workloads', rules: without(explainRules, ...workloads) });
  const className = await createClass(ctx, { allowVolumeExpansion: true });
  await createClaim(ctx, className, { name: 'claim' });
  const unseen = await blind('pvc/claim', {
    row: 'X6',
    code: 5,
    actor: 'csi-provisioner',
    sentence: 'no Lease of csi-provisioner of DRIVER was found, and workloads cannot be listed',
  });
  assert.ok(lackingIn(unseen).includes('list deployments forbidden'));

  const discreet = await startExplaining(ctx, { name: 'no-secrets', rules: without(explainRules, 'secrets') });
  const classWith = async (secret: string): Promise<string> => {
    const parameters = {
      'csi.storage.k8s.io/provisioner-secret-name': secret,
      'csi.storage.k8s.io/provisioner-secret-namespace': ctx.namespace,
    };
    return await createClass(ctx, { parameters }, secret);
  };
  await ctx.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'there' } });
  const args = ['--retry-interval-start=500ms', '--retry-interval-max=2s', '--timeout=5m'];
  await ctx.grant('csi-provisioner', 'secrets', [readSecrets]);
  await startReplica(ctx, { name: 'provisioner-a', args });
  await untilBound(ctx);
  await createClaim(ctx, await classWith('gone'), { name: 'no-secret' });
  const refused = await discreet('pvc/no-secret', {
    row: 'X29',
    code: 4,
    actor: 'administrator',
    sentence: 'csi-provisioner refuses before it calls the driver',
  });
  assert.match(refused.error?.text ?? '', /secrets? "gone" not found/);
  const hanging = await ctx.driver.control.addFault({ method: 'CreateVolume', action: { kind: 'hang' } });
  await createClaim(ctx, await classWith('there'), { name: 'with-secret' });
  const asked = {
    row: 'X31',
    actor: 'csi-provisioner',
    sentence: 'csi-provisioner was asked for a volume; a call to the driver may be under way',
  };
  const open = await discreet('pvc/with-secret', { ...asked, code: 5 });
  assert.deepEqual(lackingIn(open), ['get secrets forbidden']);
  await explains('pvc/with-secret', { ...asked, code: 3 });
  await ctx.driver.control.removeFault(hanging);
}

/** Cases 31 and 33. */
async function growWithFewRights(ctx: ScenarioContext, explains: Explains): Promise<void> {
  const { namespace, driverName, api } = ctx;
  const account = { namespace, name: 'poor-resizer' };
  const source = { profile: 'stock', subject: 'external-resizer' } as const;
  const rules = rulesOf(rbacObjects(source, { namespace, driverName }));
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    ...extraRules(account, 'rights', without(rules, 'pods', 'volumeattributesclasses')),
  ];
  ctx.cleanUp.defer(() => removeBindings(api, objects));
  await applyRbac(api, objects);
  const name = 'resizer-a';
  await createProgramPod(ctx, { name, program: 'csi-resizer', serviceAccountName: account.name });
  await startReplica(ctx, { name, program: 'csi-resizer', account });

  await wantClass(ctx, await makeClass(ctx, 'fast', { iops: '100' }));
  await explains('pvc/claim', {
    row: 'X68',
    code: 4,
    actor: 'administrator',
    sentence:
      'nothing has begun to give the volume the attributes of NS-fast: the gate VolumeAttributesClass of csi-resizer, its right to list volumeattributesclasses, or MODIFY_VOLUME of the driver is missing',
    findings: ['rights-8'],
  });

  await createClaim(ctx, ctx.nameOf('class'), { name: 'small' });
  await untilBound(ctx, 'small');
  await ask(ctx, '2Gi', 'small');
  const begins = 'csi-resizer has not begun yet';
  await explains('pvc/small', { row: 'X66', code: 3, actor: 'csi-resizer', sentence: begins });
  const grown = await explains(
    'pvc/small',
    {
      row: 'X66',
      code: 4,
      actor: 'csi-resizer',
      sentence: 'csi-resizer does nothing: its account may not list pods, without which it does nothing',
      // There is another, that the clock of csi-resizer is behind: that of the server is ahead.
      findings: ['rights-7'],
    },
    { laterMs: 10 * minuteMs },
  );
  assert.notEqual(grown.turn?.alive, 'no');
}
