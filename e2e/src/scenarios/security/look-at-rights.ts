// SPDX-License-Identifier: Apache-2.0
/** X-12, X-13: csi-provisioner reports at its start which rights its account lacks, and no others. */
import assert from 'node:assert/strict';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { applyRbac, removeBindings } from '../../rbac/apply.ts';
import { accountOf, extraRules, type RbacObject, rbacObjects, rulesOf } from '../../rbac/profiles.ts';
import { request } from '../../suite-client/request.ts';
import type { ScenarioContext } from '../context.ts';
import { readExposition } from '../observability/exposition.ts';
import type { Scenario } from '../scenario.ts';

const upstream = 'it does not look';
/** Upstream's roles lack it, so that claims which name a class are not provisioned. */
const ofClasses = 'get volumeattributesclasses.storage.k8s.io';

export const lookingAtRights: readonly Scenario[] = [
  {
    id: 'X-12',
    title: "with upstream's roles csi-provisioner reports that one right is missing: to get VolumeAttributesClasses",
    needs: ['rbac', 'attributes-classes'],
    upstream,
    run: async (ctx) => {
      assert.deepEqual(await missingRights(ctx, stock(ctx)), [ofClasses]);
    },
  },
  {
    id: 'X-13',
    title: 'a right that the account has in one namespace only is reported as missing',
    needs: ['rbac', 'attributes-classes'],
    refusals: true,
    upstream,
    run: async (ctx) => {
      const claims = 'persistentvolumeclaims';
      const missing = ['list', 'watch'].map((verb) => `${verb} ${claims}`);
      assert.deepEqual(
        await missingRights(ctx, inOneNamespace(stock(ctx), claims)),
        [...missing, ofClasses].toSorted(),
      );
    },
  },
];

function stock({ namespace, driverName }: ScenarioContext): readonly RbacObject[] {
  return rbacObjects({ profile: 'stock', subject: 'external-provisioner' }, { namespace, driverName });
}

/** The rights to list and watch a kind move from the ClusterRole to the Role. Other scenarios bind upstream's ClusterRole at the same time. */
function inOneNamespace(objects: readonly RbacObject[], kind: string): readonly RbacObject[] {
  const moved = ['list', 'watch'];
  const here = { apiGroups: [''], resources: [kind], verbs: moved };
  const left = rulesOf(objects.filter((object) => object.kind === 'ClusterRole')).map((rule) =>
    rule.resources.includes(kind) ? { ...rule, verbs: rule.verbs.filter((verb) => !moved.includes(verb)) } : rule,
  );
  return [
    ...objects
      .filter((object) => !object.kind.startsWith('ClusterRole'))
      .map((object) => (object.kind === 'Role' ? { ...object, rules: [...(object.rules ?? []), here] } : object)),
    ...extraRules(accountOf(objects), 'left', left),
  ];
}

/** As the metrics of a program with these rights show them, as soon as they show any. */
async function missingRights(ctx: ScenarioContext, objects: readonly RbacObject[]): Promise<readonly string[]> {
  const { api } = ctx;
  ctx.cleanUp.defer(() => removeBindings(api, objects));
  await applyRbac(api, objects);
  await ctx.startDriver();
  const { port } = await freePorts(['port']);
  await ctx.startSidecar('csi-provisioner', {
    account: accountOf(objects),
    args: ['--leader-election', `--leader-election-namespace=${ctx.namespace}`, `--http-endpoint=127.0.0.1:${port}`],
  });
  let found: readonly string[] = [];
  await ctx.eventually('a missing right is reported', async () => {
    found = await shown(port).catch(() => []);
    return found.length > 0;
  });
  return found;
}

async function shown(port: number): Promise<readonly string[]> {
  const answer = await request({ url: `http://127.0.0.1:${port}/metrics` });
  const family = readExposition(answer.text).find(({ name }) => name === 'csi_sidecars_missing_rights');
  const rights = (family?.samples ?? []).map(({ labels }) => {
    const [verb, resource, group = ''] = ['verb', 'resource', 'group'].map((name) => labels.get(name));
    return `${verb} ${resource}${group === '' ? '' : `.${group}`}`;
  });
  return rights.toSorted();
}
