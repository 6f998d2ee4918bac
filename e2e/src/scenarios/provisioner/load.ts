// SPDX-License-Identifier: Apache-2.0
/** P-25: many claims at once, and what each of them costs the API server. */
import assert from 'node:assert/strict';
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { AuditedRequest } from '../../audit/read-audit.ts';
import { createCalls } from '../../driver/calls.ts';
import type { ScenarioContext } from '../context.ts';
import { ownRequests } from '../own-requests.ts';
import type { Scenario } from '../scenario.ts';
import { createClaim, createClass } from './steps.ts';

const claims = 200;
/** One volume object and two events; more writes would be unnecessary. */
const writesPerClaim = 3;

export const load: readonly Scenario[] = [
  {
    id: 'P-25',
    title: `${claims} claims at once: all bound, each with a volume of its own, at most ${writesPerClaim} writes each`,
    needs: ['driver-journal', 'audit'],
    exclusive: ['cores'],
    run: async (ctx) => {
      const driver = await ctx.startDriver();
      await ctx.startProvisioner({ args: ['--kube-api-qps=100', '--kube-api-burst=200'] });
      const className = await createClass(ctx);
      const names = Array.from({ length: claims }, (_, index) => `claim-${index}`);
      await Promise.all(names.map((name) => createClaim(ctx, className, { name })));

      const handles = await ctx.eventually(
        'all claims are bound',
        async () => {
          const { items } = await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace });
          return items.every(({ status }) => status?.phase === 'Bound')
            ? items.map(({ spec }) => spec?.volumeName)
            : false;
        },
        180_000,
      );

      assert.equal(new Set(handles).size, claims);
      assert.equal((await driver.control.volumes()).length, claims);
      assert.equal((await createCalls(driver)).length, claims);
      const writes = ownWrites(ctx);
      assert.ok(writes.length <= claims * writesPerClaim, `${writes.length} writes for ${claims} claims`);
    },
  },
];

function ownWrites(ctx: ScenarioContext): readonly AuditedRequest[] {
  const verbs = new Set(['create', 'update', 'patch', 'delete']);
  return ownRequests(ctx).filter(({ verb, resource }) => verbs.has(verb) && resource !== 'leases');
}
