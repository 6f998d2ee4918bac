// SPDX-License-Identifier: Apache-2.0
/**
 * Z-07: volumes move among nodes while all programs are killed, at moments that the run's seed decides (`--seed` repeats them). One
 * node is lost and declared out of service, another is deleted. According to the driver's journal, no two nodes ever have the same volume.
 */
import assert from 'node:assert/strict';
import {
  csiNodes,
  ignoreNotFound,
  nodes as nodeResource,
  persistentVolumeClaims,
  pods,
  type Resource,
} from '@csi-sidecars/runtime';
import { seededRandom } from '@csi-sidecars/runtime/testing';
import type { NodeEmulator } from '@csi-sidecars/sim';
import { publishCalls, unpublishCalls } from '../../driver/calls.ts';
import { openFleet, releaseAll, untilNoneAttached } from '../attacher/fleet.ts';
import { attachmentsOf, nodeIdOf, outOfService } from '../attacher/steps.ts';
import type { ScenarioContext } from '../context.ts';
import { aClaim, aPod } from '../objects.ts';
import type { Scenario } from '../scenario.ts';
import { holdingsOf } from './holders.ts';
import { killsOf, planKills } from './kills.ts';
import { createDisruption, share } from './disruption.ts';
import { deleteClaimsInsistently, insist, unlessThere } from './volumes.ts';

const volumeCounts = { full: 300, tenth: 90 } as const;
/** How the kills are divided: while volumes are attached, while they move, and the others while they are detached. */
const killCounts = { full: { attaching: 7, moving: 7 }, tenth: { attaching: 3, moving: 4 } } as const;
const convergeMs = 180_000;

export const attachmentChaos: readonly Scenario[] = [
  {
    id: 'Z-07',
    title: `twenty kills of csi-attacher, driver and API server while ${volumeCounts.full} volumes (ten and ${volumeCounts.tenth} without --full) move among 5 nodes, of which two are lost: never attached to two`,
    needs: ['driver-faults', 'driver-journal', 'driver-settings', 'api-server-control'],
    exclusive: ['api-server'],
    restarts: true,
    run: async (ctx) => {
      const { load, seed } = ctx.testRun;
      const [volumes, kills] = [volumeCounts[load], killCounts[load]];
      const fleet = await openFleet(ctx, { nodes: 5, volumes, volumeParts: (what) => claimedBy(ctx, what) });
      const [one, two, three, lost, deleted] = fleet.nodes;
      assert.ok(one !== undefined && two !== undefined && three !== undefined);
      assert.ok(lost !== undefined && deleted !== undefined);
      const sidecar = await ctx.startAttacher({
        args: [
          '--worker-threads=20',
          '--timeout=5s',
          '--retry-interval-start=200ms',
          '--retry-interval-max=2s',
          '--kube-api-qps=200',
          '--kube-api-burst=400',
        ],
      });
      const names = Array.from({ length: volumes }, (_, index) => `volume-${index}`);
      await Promise.all(names.map((name) => ctx.create(persistentVolumeClaims, claimOf(ctx, name))));
      const random = seededRandom(seed);
      const plan = planKills(random, killsOf('csi-attacher', load));
      const methods = ['ControllerPublishVolume', 'ControllerUnpublishVolume'];
      // A kill takes a while, and must still hit calls.
      const disruption = createDisruption(ctx, { sidecars: { 'csi-attacher': sidecar }, methods, slowness: 3 });
      const fleetOfPods = createPods(ctx);

      await disruption.disturb(
        plan.slice(0, kills.attaching),
        (part) => fleetOfPods.place(share(names, part), (index) => fleet.nodes[index % 5]!),
        names.length,
      );
      await disruption.calm();
      await fleetOfPods.untilAllRun();

      const toMove = plan.slice(kills.attaching, kills.attaching + kills.moving);
      const lose = async (): Promise<void> => {
        lost.freeze();
        const body = { spec: { taints: [outOfService] } };
        const target = { resource: nodeResource, ref: { name: lost.name } };
        await insist(ctx, [lost.name], () => ctx.api.patch(target, { type: 'strategic', body }));
        await fleetOfPods.move(fleetOfPods.on(lost), (index) => [one, two, three][index % 3]!, 'forced');
      };
      await disruption.disturb(toMove.slice(0, 1), lose);
      await disruption.disturb(
        toMove.slice(1),
        async (part) => {
          const staying = [one, two, three, deleted];
          await fleetOfPods.move(share(names, part), (index) => staying[(index + 1) % staying.length]!, 'graceful');
        },
        names.length,
      );
      await disruption.calm();
      await fleetOfPods.untilAllRun();

      const toEnd = plan.slice(kills.attaching + kills.moving);
      await disruption.disturb(toEnd.slice(0, 1), async () => {
        await fleetOfPods.end(fleetOfPods.on(deleted));
        await deleteNode(ctx, deleted);
      });
      await disruption.disturb(
        toEnd.slice(1),
        async (part) => {
          await fleetOfPods.end(share(names, part));
        },
        names.length,
      );
      await disruption.calm();
      await untilNoneAttached(ctx);

      const [published, unpublished] = [await publishCalls(ctx.driver), await unpublishCalls(ctx.driver)];
      const { early, ...holdings } = holdingsOf({ published, unpublished });
      assert.deepEqual(holdings, { breaches: [], left: [] });
      ctx.note(
        await disruption.assertHits(
          load === 'full' ? { driver: 5, 'csi-attacher': 5 } : { driver: 2, 'csi-attacher': 2 },
        ),
      );
      ctx.note(`seed ${seed}: ${published.length} attachments and ${unpublished.length} detachments asked for`);
      // The attach/detach controller treats a volume whose detachment has failed as free.
      ctx.note(`${early.length} times a volume was asked for that another node might have: the driver decides`);
      lost.thaw();
      await deleteClaimsInsistently(ctx, names);
      await releaseAll(ctx, fleet);
    },
  },
];

function claimedBy({ namespace }: ScenarioContext, what: string): object {
  return { spec: { storageClassName: '', claimRef: { namespace, name: what } } };
}

function claimOf(ctx: ScenarioContext, what: string): ReturnType<typeof aClaim> {
  return aClaim(what, '', { volumeName: ctx.nameOf(what) });
}

type Choose = (index: number) => NodeEmulator;

interface Pods {
  /** A pod for each of these volumes on the node that is chosen for it. */
  place(names: readonly string[], choose: Choose): Promise<void>;
  move(names: readonly string[], choose: Choose, how: 'graceful' | 'forced'): Promise<void>;
  end(names: readonly string[]): Promise<void>;
  /** Volumes whose pod exists. */
  on(node: NodeEmulator): readonly string[];
  untilAllRun(): Promise<void>;
}

/** Creates one pod for each volume; retries until the API server, which may be down, has accepted it. */
function createPods(ctx: ScenarioContext): Pods {
  const { api, namespace } = ctx;
  const places = new Map<string, NodeEmulator>();
  const turns = new Map<string, number>();
  const podOf = (name: string): string => `${name}-${turns.get(name) ?? 0}`;

  const place = async (names: readonly string[], choose: Choose): Promise<void> => {
    const index = new Map(names.map((name, at) => [name, at]));
    await insist(ctx, names, async (name) => {
      const node = choose(index.get(name) ?? 0);
      const pod = aPod(podOf(name), name, { nodeName: node.name, terminationGracePeriodSeconds: 30 });
      await unlessThere(ctx.create(pods, pod));
      places.set(name, node);
    });
  };
  const end = async (names: readonly string[], how: 'graceful' | 'forced' = 'graceful'): Promise<void> => {
    const options = how === 'forced' ? { gracePeriodSeconds: 0 } : {};
    await insist(ctx, names, (name) =>
      api.delete(pods, { namespace, name: podOf(name) }, options).catch(ignoreNotFound),
    );
    for (const name of names) places.delete(name);
  };
  return {
    place,
    end: async (names) => await end(names),
    move: async (names, choose, how) => {
      await end(names, how);
      for (const name of names) turns.set(name, (turns.get(name) ?? 0) + 1);
      await place(names, choose);
    },
    on: (node) => [...places].filter(([, place]) => place === node).map(([name]) => name),
    untilAllRun: async () => {
      await ctx.eventually(
        `all ${places.size} pods run`,
        async () => {
          const { items } = await api.list(pods, { namespace });
          return (
            items.filter(({ status }) => status?.phase === 'Running').length === places.size &&
            items.length === places.size
          );
        },
        convergeMs,
      );
    },
  };
}

/** Removes the node while its volumes are still being detached; nothing is mounted on it any more. */
async function deleteNode(ctx: ScenarioContext, node: NodeEmulator): Promise<void> {
  const { name } = node;
  const slow = { method: 'ControllerUnpublishVolume', nodeId: nodeIdOf(name), at: 'during' } as const;
  await ctx.eventually('the driver is slow for this node', async () => {
    return await ctx.driver.control.addFault({ ...slow, action: { kind: 'delay', ms: 500 } });
  });
  await ctx.eventually(
    `the volumes of ${name} are to be detached`,
    async () => (await attachmentsOf(ctx, node)).every(({ metadata }) => metadata?.deletionTimestamp !== undefined),
    convergeMs,
  );
  node.freeze();
  const remove = (resource: Resource): Promise<void> => insist(ctx, [name], () => ctx.remove(resource, name));
  await remove(csiNodes);
  await remove(nodeResource);
}
