// SPDX-License-Identifier: Apache-2.0
/** U-01: the combined program with all controllers of a driver. */
import assert from 'node:assert/strict';
import { leases } from '@csi-sidecars/runtime';
import type { Scenario } from '../scenario.ts';
import { assertNothingIsLeft, live, quick, setStage } from './life.ts';

export const combined: readonly Scenario[] = [
  {
    id: 'U-01',
    title:
      'one process with four controllers: claim, attach, grow, snapshot, delete; four leases, one watch of each kind',
    needs: ['driver-settings', 'driver-journal'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      const stage = await setStage(ctx);
      await ctx.startSidecar('csi-sidecars', {
        // It may be left out, as Z-14 does.
        words: ['all'],
        args: [
          '--controllers=provisioner,attacher,resizer,snapshotter',
          '--leader-election',
          `--leader-election-namespace=${ctx.namespace}`,
          ...quick,
        ],
      });
      await Promise.all([0, 1, 2].map((index) => live(ctx, stage, index)));
      await assertNothingIsLeft(ctx);

      const { items } = await ctx.api.list(leases, { namespace: ctx.namespace });
      const driver = ctx.driverName.replaceAll('.', '-');
      assert.deepEqual(
        items.map(({ metadata }) => metadata?.name ?? '').toSorted(),
        [
          driver,
          `external-attacher-leader-${driver}`,
          `external-resizer-${driver}`,
          `external-snapshotter-leader-${driver}`,
        ].toSorted(),
      );
      const { audit } = ctx.testRun.controlPlane;
      if (audit !== undefined) {
        const user = `system:serviceaccount:${ctx.namespace}:csi-sidecars`;
        const watched = audit()
          .filter((request) => request.user === user && request.verb === 'watch' && request.resource !== 'leases')
          .map(({ resource }) => resource);
        const kinds = new Set(watched);
        ctx.note(`watches: ${[...kinds].toSorted().join(', ')}`);
        assert.equal(watched.length, kinds.size, `more than one watch of a kind: ${watched.toSorted().join(', ')}`);
      }
    },
  },
];
