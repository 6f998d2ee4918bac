// SPDX-License-Identifier: Apache-2.0
/**
 * Z-09: our csi-resizer and upstream's as leader and standby of one driver. Each finishes the expansions and modifications that
 * the other has begun, with identical calls to the driver.
 */
import assert from 'node:assert/strict';
import type { Method } from '@csi-sidecars/csi';
import { leases, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { RecordedCall } from '@csi-sidecars/test-driver';
import { createClaims } from '../availability/claims.ts';
import { startReplicas, takeTurns, untilLed, untilMoreCalls, type HandOver } from '../availability/replicas.ts';
import type { ScenarioContext } from '../context.ts';
import { createClass } from '../provisioner/steps.ts';
import {
  ask,
  conditionsOf,
  expandCalls,
  gib,
  makeClass,
  modifyCalls,
  resizeStatus,
  untilEachClaim,
  wantClass,
  withoutNode,
} from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';

const claims = 200;
/** Calls between two hand-overs. */
const turn = 50;

const [expand, modify] = ['ControllerExpandVolume', 'ControllerModifyVolume'] as const;

export const resizeMixedImplementations: readonly Scenario[] = [
  {
    id: 'Z-09',
    title: `ours and upstream's csi-resizer take over from each other during ${claims} expansions and as many modifications, in both directions`,
    needs: [
      'both-implementations',
      'host-names',
      'driver-faults',
      'driver-journal',
      'driver-settings',
      'controller-manager',
    ],
    exclusive: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const driver = await ctx.startDriver(withoutNode);
      await ctx.startProvisioner({ args: ['--kube-api-qps=200', '--kube-api-burst=400'] });
      await createClaims(ctx, await createClass(ctx, { allowVolumeExpansion: true }), claims);
      await untilEachClaim(ctx, 'is bound', ({ status }) => status?.phase === 'Bound');
      const gold = await makeClass(ctx, 'gold', { tier: 'gold' });
      for (const method of [expand, modify]) {
        await driver.control.addFault({ method, at: 'during', action: { kind: 'delay', ms: 500 } });
      }
      const replicas = await startReplicas(ctx, {
        program: 'csi-resizer',
        implementations: { 'replica-a': 'ours', 'replica-b': 'upstream' },
        args: ['--retry-interval-start=500ms', '--retry-interval-max=2s', '--kube-api-qps=100', '--kube-api-burst=200'],
      });
      const first = await untilLed(ctx, replicas);
      const handOvers: HandOver[] = [];
      const thereAndBack = async (method: Method): Promise<void> => {
        for (let times = 0; times < 2; times += 1) {
          await untilMoreCalls(ctx, method, turn);
          handOvers.push(await takeTurns(ctx, replicas));
        }
      };
      const leaderAt = (atMs: number): string => handOvers.find(({ goneMs }) => goneMs >= atMs)?.from ?? first.name;
      const leadersOf = (calls: readonly RecordedCall[]): number =>
        new Set(calls.map(({ beganAtMs }) => leaderAt(beganAtMs))).size;
      const names = Array.from({ length: claims }, (_, index) => `claim-${index}`);

      await Promise.all(names.map((name) => ask(ctx, '2Gi', name)));
      await thereAndBack(`/csi.v1.Controller/${expand}`);
      await untilEachClaim(ctx, 'has 2Gi', ({ status }) => {
        return status?.capacity?.['storage'] === '2Gi' && resizeStatus(status) === undefined;
      });
      await Promise.all(names.map((name) => wantClass(ctx, gold, name)));
      await thereAndBack(`/csi.v1.Controller/${modify}`);
      await untilEachClaim(ctx, `has ${gold}`, ({ status }) => {
        return status?.currentVolumeAttributesClassName === gold && status.modifyVolumeStatus === undefined;
      });

      const [expansions, modifications] = [await expandCalls(ctx), await modifyCalls(ctx)];
      assert.deepEqual([leadersOf(expansions), leadersOf(modifications)], [2, 2]);
      assertSameRequests(expansions);
      assertSameRequests(modifications);
      await assertConsistent(ctx, gold);
      const { items } = await ctx.api.list(leases, { namespace: ctx.namespace });
      assert.deepEqual(
        items.map(({ metadata, spec }) => [metadata?.name, spec?.leaseTransitions]),
        [[`external-resizer-${ctx.driverName.replaceAll('.', '-')}`, handOvers.length]],
      );
      ctx.note(
        `${expansions.length} calls for ${claims} expansions, ${modifications.length} for as many modifications, ${handOvers.length} hand-overs`,
      );
    },
  },
];

/** Both implementations send the same request for a volume. */
function assertSameRequests(calls: readonly { readonly request: { readonly volume_id: string } }[]): void {
  const byVolume = Map.groupBy(calls, ({ request }) => request.volume_id);
  assert.equal(byVolume.size, claims);
  for (const [one, ...others] of byVolume.values()) {
    for (const { request } of others) assert.deepEqual(request, one?.request);
  }
}

/** Claim, PersistentVolume and storage agree, and no condition is left. */
async function assertConsistent(ctx: ScenarioContext, className: string): Promise<void> {
  const volumes = new Map((await ctx.api.list(persistentVolumes)).items.map((it) => [it.metadata?.name, it]));
  const stored = new Map((await ctx.driver.control.volumes()).map((it) => [it.id, it]));
  const { items } = await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace });
  for (const { metadata, spec, status } of items) {
    const volume = volumes.get(spec?.volumeName);
    const found = {
      conditions: conditionsOf(status),
      capacity: volume?.spec?.capacity?.['storage'],
      className: volume?.spec?.volumeAttributesClassName,
      bytes: String(stored.get(volume?.spec?.csi?.volumeHandle ?? '')?.capacityBytes),
    };
    const wanted = { conditions: [], capacity: '2Gi', className, bytes: String(2n * gib) };
    assert.deepEqual(found, wanted, metadata?.name ?? '');
  }
}
