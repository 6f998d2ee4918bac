// SPDX-License-Identifier: Apache-2.0
/**
 * Z-02, Z-08 and Z-09: our program and upstream's as leader and standby of one driver. Each finishes and undoes what the other has begun, so
 * either can be replaced by the other during work, in both directions.
 */
import assert from 'node:assert/strict';
import type { Method } from '@csi-sidecars/csi';
import { leases, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { callsOf, createCalls, publishCalls, unpublishCalls } from '../../driver/calls.ts';
import type { ControllerName } from '../../processes/program.ts';
import { leaseNameOf } from '../../rbac/profiles.ts';
import {
  createAttachments,
  deleteAttachments,
  openFleet,
  releaseAll,
  untilAllAttached,
  untilNoneAttached,
} from '../attacher/fleet.ts';
import { attachmentsOf, nodeIdOf } from '../attacher/steps.ts';
import { createClaims } from '../availability/claims.ts';
import {
  startReplicas,
  takeTurns,
  untilCallBegins,
  untilLed,
  untilMoreCalls,
  type HandOver,
} from '../availability/replicas.ts';
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
import { takeOverNeeds } from '../needs.ts';
import type { Scenario } from '../scenario.ts';
import { subjects } from '../sidecars.ts';
import { holdingsOf } from './holders.ts';
import { assertOneVolumeEach, claimsOf, deleteClaimsInsistently, untilNothingIsLeft } from './volumes.ts';

type Timed = readonly { readonly beganAtMs: number }[];

interface Turns {
  /** Names of the replicas, the first leader at first. */
  readonly names: readonly [string, string];
  /** The leader dies, and the other replica leads. */
  readonly handOver: () => Promise<void>;
  readonly leaderAt: (atMs: number) => string;
  readonly leadersOf: (calls: Timed) => number;
}

interface Mixed<Stage> {
  readonly id: string;
  readonly title: string;
  readonly program: ControllerName;
  readonly args: readonly string[];
  /** Calls that take a while, so that a hand-over happens during some of them. */
  readonly slow: readonly string[];
  readonly prepare: (ctx: ScenarioContext) => Promise<Stage>;
  readonly run: (ctx: ScenarioContext, turns: Turns, stage: Stage) => Promise<void>;
}

function mixed<Stage>({ id, title, program, args, slow, prepare, run }: Mixed<Stage>): Scenario {
  return {
    id,
    title,
    needs: takeOverNeeds,
    exclusive: ['cores'],
    restarts: true,
    run: async (ctx) => {
      const stage = await prepare(ctx);
      for (const method of slow) {
        await ctx.driver.control.addFault({ method, at: 'during', action: { kind: 'delay', ms: 500 } });
      }
      const replicas = await startReplicas(ctx, {
        program,
        implementations: { 'replica-a': 'ours', 'replica-b': 'upstream' },
        args: ['--retry-interval-start=500ms', '--kube-api-qps=100', '--kube-api-burst=200', ...args],
      });
      const first = await untilLed(ctx, replicas);
      const handOvers: HandOver[] = [];
      const leaderAt = (atMs: number): string => handOvers.find(({ goneMs }) => goneMs >= atMs)?.from ?? first.name;
      await run(
        ctx,
        {
          names: [first.name, replicas.find(({ name }) => name !== first.name)!.name],
          handOver: async () => void handOvers.push(await takeTurns(ctx, replicas)),
          leaderAt,
          leadersOf: (calls) => new Set(calls.map(({ beganAtMs }) => leaderAt(beganAtMs))).size,
        },
        stage,
      );
      const { items } = await ctx.api.list(leases, { namespace: ctx.namespace });
      assert.deepEqual(
        items.map(({ metadata, spec }) => [metadata?.name, spec?.leaseTransitions]),
        [[leaseNameOf(subjects[program], ctx.driverName), handOvers.length]],
      );
      ctx.note(`${handOvers.length} hand-overs`);
    },
  };
}

/** Both implementations send the same request for a volume. */
function assertSameRequests(
  calls: readonly { readonly request: { readonly volume_id: string } }[],
  volumes: number,
): void {
  const byVolume = Map.groupBy(calls, ({ request }) => request.volume_id);
  assert.equal(byVolume.size, volumes);
  for (const [one, ...others] of byVolume.values()) {
    for (const { request } of others) assert.deepEqual(request, one?.request);
  }
}

const claims = 200;
const attachments = 300;
const [create, remove] = ['/csi.v1.Controller/CreateVolume', '/csi.v1.Controller/DeleteVolume'] as const;
const [publish, unpublish] = [
  '/csi.v1.Controller/ControllerPublishVolume',
  '/csi.v1.Controller/ControllerUnpublishVolume',
] as const;
const [expand, modify] = [
  '/csi.v1.Controller/ControllerExpandVolume',
  '/csi.v1.Controller/ControllerModifyVolume',
] as const;
const shortOf = (method: Method): string => method.slice(method.lastIndexOf('/') + 1);

export const mixedImplementations: readonly Scenario[] = [
  mixed({
    id: 'Z-02',
    title: `ours and upstream's take over from each other during ${claims} claims, and back: one Lease, one volume each`,
    program: 'csi-provisioner',
    args: ['--worker-threads=10'],
    slow: [create, remove].map(shortOf),
    prepare: (ctx) => ctx.startDriver(),
    run: async (ctx, { names: [first, other], handOver, leaderAt, leadersOf }) => {
      await createClaims(ctx, await createClass(ctx), claims);
      for (let times = 0; times < 2; times += 1) {
        await untilMoreCalls(ctx, create, 50);
        await untilCallBegins(ctx, create);
        await handOver();
      }
      await assertOneVolumeEach(ctx, claims);

      /** By volume name: the leaders that called CreateVolume for it, in order. */
      const makers = new Map(
        [...Map.groupBy(await createCalls(ctx.driver), ({ request }) => request.name)].map(([name, calls]) => [
          name,
          calls.map(({ beganAtMs }) => leaderAt(beganAtMs)),
        ]),
      );
      const madeBy = async (isMaker: (name: string) => boolean): Promise<readonly string[]> =>
        (await claimsOf(ctx))
          .filter(({ metadata }) => isMaker(makers.get(`pvc-${metadata?.uid}`)?.at(-1) ?? ''))
          .map(({ metadata }) => metadata?.name ?? '');
      await deleteClaimsInsistently(ctx, await madeBy((name) => name !== first));
      await untilMoreCalls(ctx, remove, 10);
      await handOver();
      await deleteClaimsInsistently(ctx, await madeBy((name) => name === first));
      await untilMoreCalls(ctx, remove, 20);
      await handOver();
      await untilNothingIsLeft(ctx);

      const sequences = [...makers.values()].map((names) => names.join(' '));
      for (const [one, two] of [
        [first, other],
        [other, first],
      ])
        assert.ok(
          sequences.some((names) => names.includes(`${one} ${two}`)),
          `${two} finished nothing of ${one}`,
        );
      assert.equal(leadersOf(await callsOf(ctx.driver, remove)), 2);
    },
  }),
  mixed({
    id: 'Z-08',
    title: `ours and upstream's csi-attacher take over from each other during ${attachments} attachments, in both directions`,
    program: 'csi-attacher',
    args: [],
    slow: [publish, unpublish].map(shortOf),
    prepare: (ctx) => openFleet(ctx, { nodes: 5, volumes: attachments }),
    run: async (ctx, { handOver, leadersOf }, fleet) => {
      const { driver, volumes } = fleet;
      await createAttachments(ctx, fleet, volumes);
      for (let times = 0; times < 2; times += 1) {
        await untilMoreCalls(ctx, publish, 60);
        await handOver();
      }
      await untilAllAttached(ctx, attachments);

      const published = await publishCalls(driver);
      assert.equal(leadersOf(published), 2);
      assertSameRequests(published, attachments);
      const wanted = new Map(
        (await attachmentsOf(ctx)).map(({ spec }) => [spec.source.persistentVolumeName, spec.nodeName]),
      );
      const stored = new Map((await driver.control.volumes()).map((volume) => [volume.id, volume.attachments]));
      for (const { name, handle } of volumes) {
        const holders = stored.get(handle)?.map(({ nodeId }) => nodeId);
        assert.deepEqual(holders, [nodeIdOf(wanted.get(name) ?? '')]);
      }

      const names = (await attachmentsOf(ctx)).map(({ metadata }) => metadata?.name ?? '');
      await deleteAttachments(ctx, names);
      for (let times = 0; times < 2; times += 1) {
        await untilMoreCalls(ctx, unpublish, 60);
        await handOver();
      }
      await untilNoneAttached(ctx);
      const unpublished = await unpublishCalls(driver);
      assert.equal(leadersOf(unpublished), 2);
      assert.deepEqual(holdingsOf({ published: await publishCalls(driver), unpublished }), {
        breaches: [],
        early: [],
        left: [],
      });
      await releaseAll(ctx, fleet);
      ctx.note(`${published.length} attachments asked for, ${unpublished.length} detachments`);
    },
  }),
  mixed({
    id: 'Z-09',
    title: `ours and upstream's csi-resizer take over from each other during ${claims} expansions and as many modifications, in both directions`,
    program: 'csi-resizer',
    args: ['--retry-interval-max=2s'],
    slow: [expand, modify].map(shortOf),
    prepare: async (ctx) => {
      await ctx.startDriver(withoutNode);
      await ctx.startProvisioner({ args: ['--kube-api-qps=200', '--kube-api-burst=400'] });
      await createClaims(ctx, await createClass(ctx, { allowVolumeExpansion: true }), claims);
      await untilEachClaim(ctx, 'is bound', ({ status }) => status?.phase === 'Bound');
      return await makeClass(ctx, 'gold', { tier: 'gold' });
    },
    run: async (ctx, { handOver, leadersOf }, gold) => {
      const names = Array.from({ length: claims }, (_, index) => `claim-${index}`);
      await Promise.all(names.map((name) => ask(ctx, '2Gi', name)));
      for (let times = 0; times < 2; times += 1) {
        await untilMoreCalls(ctx, expand, 50);
        await handOver();
      }
      await untilEachClaim(ctx, 'has 2Gi', ({ status }) => {
        return status?.capacity?.['storage'] === '2Gi' && resizeStatus(status) === undefined;
      });
      await Promise.all(names.map((name) => wantClass(ctx, gold, name)));
      for (let times = 0; times < 2; times += 1) {
        await untilMoreCalls(ctx, modify, 50);
        await handOver();
      }
      await untilEachClaim(ctx, `has ${gold}`, ({ status }) => {
        return status?.currentVolumeAttributesClassName === gold && status.modifyVolumeStatus === undefined;
      });

      const [expansions, modifications] = [await expandCalls(ctx), await modifyCalls(ctx)];
      assert.deepEqual([leadersOf(expansions), leadersOf(modifications)], [2, 2]);
      assertSameRequests(expansions, claims);
      assertSameRequests(modifications, claims);
      await assertConsistent(ctx, gold);
      ctx.note(
        `${expansions.length} calls for ${claims} expansions, ${modifications.length} for as many modifications`,
      );
    },
  }),
];

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
