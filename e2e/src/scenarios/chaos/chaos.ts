// SPDX-License-Identifier: Apache-2.0
/** Z-01: all programs are killed repeatedly, at moments that the run's seed decides (`--seed` repeats them). */
import { seededRandom } from '@csi-sidecars/runtime/testing';
import { createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { killsOf, planKills } from './kills.ts';
import { createDisruption, share } from './disruption.ts';
import { assertOneVolumeEach, createClaimsInsistently, deleteClaimsDuring } from './volumes.ts';

const claims = { full: 200, tenth: 50 } as const;
/** The share of the kills that happen during creation; the others happen while the claims are deleted. */
const whileCreating = 0.6;

export const chaos: readonly Scenario[] = [
  {
    id: 'Z-01',
    title: `twenty kills of sidecar, driver and API server while ${claims.full} claims come and go (ten and ${claims.tenth} without --full): one volume each, then none`,
    needs: ['driver-faults', 'driver-journal', 'api-server-control'],
    exclusive: ['api-server'],
    restarts: true,
    run: async (ctx) => {
      const { load, seed } = ctx.testRun;
      await ctx.startDriver();
      const sidecar = await ctx.startProvisioner({
        args: [
          '--leader-election',
          `--leader-election-namespace=${ctx.namespace}`,
          '--worker-threads=4',
          '--retry-interval-start=200ms',
          '--retry-interval-max=2s',
        ],
      });
      const className = await createClass(ctx);
      const names = Array.from({ length: claims[load] }, (_, index) => `claim-${index}`);
      const plan = planKills(seededRandom(seed), killsOf('csi-provisioner', load));
      const later = plan.length * whileCreating;
      const disruption = createDisruption(ctx, {
        sidecars: { 'csi-provisioner': sidecar },
        methods: ['CreateVolume', 'DeleteVolume'],
      });

      await disruption.disturb(
        plan.slice(0, later),
        (part) => createClaimsInsistently(ctx, className, share(names, part)),
        names.length,
      );
      await disruption.calm();
      await assertOneVolumeEach(ctx, names.length);
      await deleteClaimsDuring(ctx, { disruption, kills: plan.slice(later), names });

      ctx.note(
        await disruption.assertHits(
          load === 'full' ? { driver: 5, 'csi-provisioner': 5 } : { driver: 2, 'csi-provisioner': 2 },
        ),
      );
    },
  },
];
