// SPDX-License-Identifier: Apache-2.0
/** Z-03: in-cluster settings instead of a kubeconfig, with a token that changes while the program runs. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { leases } from '@csi-sidecars/runtime';
import { mountAccount, type MountedAccount } from '../../accounts/mounted-account.ts';
import { untilRefused } from '../../accounts/until-refused.ts';
import { leaseNameOf } from '../../rbac/profiles.ts';
import { createClaims, assertConverged } from '../availability/claims.ts';
import { createClaim, createClass, eventsOf, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { withAccountFolder } from '../test-run.ts';

const rotations = 3;

export const inCluster: readonly Scenario[] = [
  {
    id: 'Z-03',
    title:
      'in-cluster settings: tokens are replaced and the old ones made worthless, and claims are served all the time',
    needs: ['private-mounts', 'bound-tokens', 'driver-journal'],
    run: async (ctx) => {
      const { api } = ctx;
      const { controlPlane } = ctx.testRun;
      await ctx.startDriver();
      let mounted: MountedAccount | undefined;
      await ctx.startProvisioner({
        args: ['--leader-election', '--retry-interval-start=500ms'],
        connect: async (account) => {
          const folder = join(ctx.testRun.scratch, ctx.namespace, 'account');
          mounted = await mountAccount({ controlPlane, api }, { account, folder });
          const { hostname, port } = new URL(controlPlane.server);
          const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
          return { before: withAccountFolder(folder), args: [], env };
        },
      });
      const className = await createClass(ctx);
      await createClaims(ctx, className, 5);

      for (let rotation = 0; rotation < rotations; rotation += 1) {
        const old = await mounted!.rotate();
        await createClaim(ctx, className, { name: `during-${rotation}` });
        await untilRefused(ctx, old);
        await createClaim(ctx, className, { name: `after-${rotation}` });
        await untilBound(ctx, `during-${rotation}`);
        await untilBound(ctx, `after-${rotation}`);
      }

      await assertConverged(ctx, 5 + 2 * rotations);
      assert.deepEqual(await eventsOf(ctx, 'ProvisioningFailed'), []);
      // The Lease is in the namespace of the namespace file.
      await api.get(leases, { namespace: ctx.namespace, name: leaseNameOf('external-provisioner', ctx.driverName) });
    },
  },
];
