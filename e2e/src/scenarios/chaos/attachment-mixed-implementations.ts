// SPDX-License-Identifier: Apache-2.0
/**
 * Z-08: our csi-attacher and upstream's as leader and standby of one driver. Each attaches and detaches what the other has
 * begun, with identical calls to the driver.
 */
import assert from 'node:assert/strict';
import { leases } from '@csi-sidecars/runtime';
import { publishCalls, unpublishCalls } from '../../driver/calls.ts';
import {
  createAttachments,
  deleteAttachments,
  openFleet,
  releaseAll,
  untilAllAttached,
  untilNoneAttached,
} from '../attacher/fleet.ts';
import { attachmentsOf, nodeIdOf } from '../attacher/steps.ts';
import { startReplicas, takeTurns, untilLed, untilMoreCalls, type HandOver } from '../availability/replicas.ts';
import type { Scenario } from '../scenario.ts';
import { holdingsOf } from './holders.ts';

const attachments = 300;

export const attachmentMixedImplementations: readonly Scenario[] = [
  {
    id: 'Z-08',
    title: `ours and upstream's csi-attacher take over from each other during ${attachments} attachments, in both directions`,
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
      const fleet = await openFleet(ctx, { nodes: 5, volumes: attachments });
      const { driver, volumes } = fleet;
      for (const method of ['ControllerPublishVolume', 'ControllerUnpublishVolume']) {
        await driver.control.addFault({ method, at: 'during', action: { kind: 'delay', ms: 500 } });
      }
      const replicas = await startReplicas(ctx, {
        program: 'csi-attacher',
        implementations: { 'replica-a': 'ours', 'replica-b': 'upstream' },
        args: ['--retry-interval-start=500ms', '--kube-api-qps=100', '--kube-api-burst=200'],
      });
      const first = await untilLed(ctx, replicas);
      const handOvers: HandOver[] = [];
      const handOver = async (): Promise<void> => void handOvers.push(await takeTurns(ctx, replicas));
      const leaderAt = (atMs: number): string => handOvers.find(({ goneMs }) => goneMs >= atMs)?.from ?? first.name;
      const leadersOf = (calls: readonly { readonly beganAtMs: number }[]): number =>
        new Set(calls.map(({ beganAtMs }) => leaderAt(beganAtMs))).size;

      await createAttachments(ctx, fleet, volumes);
      await untilMoreCalls(ctx, '/csi.v1.Controller/ControllerPublishVolume', 60);
      await handOver();
      await untilMoreCalls(ctx, '/csi.v1.Controller/ControllerPublishVolume', 60);
      await handOver();
      await untilAllAttached(ctx, attachments);

      const published = await publishCalls(driver);
      assert.equal(leadersOf(published), 2);
      for (const calls of Map.groupBy(published, ({ request }) => request.volume_id).values()) {
        for (const { request } of calls) assert.deepEqual(request, calls[0]?.request);
      }
      const wanted = new Map(
        (await attachmentsOf(ctx)).map(({ spec }) => [spec.source.persistentVolumeName, spec.nodeName]),
      );
      const stored = new Map((await driver.control.volumes()).map((volume) => [volume.id, volume.attachments]));
      for (const { name, handle } of volumes) {
        const holders = stored.get(handle)?.map(({ nodeId }) => nodeId);
        assert.deepEqual(holders, [nodeIdOf(wanted.get(name) ?? '')]);
      }

      await deleteAttachments(
        ctx,
        (await attachmentsOf(ctx)).map(({ metadata }) => metadata?.name ?? ''),
      );
      await untilMoreCalls(ctx, '/csi.v1.Controller/ControllerUnpublishVolume', 60);
      await handOver();
      await untilMoreCalls(ctx, '/csi.v1.Controller/ControllerUnpublishVolume', 60);
      await handOver();
      await untilNoneAttached(ctx);
      const unpublished = await unpublishCalls(driver);
      assert.equal(leadersOf(unpublished), 2);
      assert.deepEqual(holdingsOf({ published: await publishCalls(driver), unpublished }), {
        breaches: [],
        early: [],
        left: [],
      });
      await releaseAll(ctx, fleet);

      const { items } = await ctx.api.list(leases, { namespace: ctx.namespace });
      assert.deepEqual(
        items.map(({ metadata, spec }) => [metadata?.name, spec?.leaseTransitions]),
        [[`external-attacher-leader-${ctx.driverName.replaceAll('.', '-')}`, handOvers.length]],
      );
      ctx.note(
        `${published.length} attachments asked for, ${unpublished.length} detachments, ${handOvers.length} hand-overs`,
      );
    },
  },
];
