// SPDX-License-Identifier: Apache-2.0
/** O-07: what `csi-sidecars explain` says about volumes that are to be attached, or detached, on a real API server. */
import assert from 'node:assert/strict';
import { csiNodes, nodes, pods, volumeAttachments } from '@csi-sidecars/runtime';
import { type NodeEmulator, stubDriver } from '@csi-sidecars/sim';
import type { FaultAction } from '@csi-sidecars/test-driver';
import { addEmulatedNodes } from '../../nodes/emulated-node.ts';
import type { SupervisedProcess } from '../../processes/supervised-process.ts';
import {
  createAttachment,
  nodeIdOf,
  outOfService,
  startAttachable,
  untilAttached,
  untilAttachmentOn,
  untilDetached,
} from '../attacher/steps.ts';
import { startReplica } from '../availability/replicas.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import { untilRunning } from '../pod-life.ts';
import { deletePod } from '../pods.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { minuteMs, startExplaining, type Explains } from './explaining.ts';

const quick = ['--retry-interval-start=500ms', '--retry-interval-max=2s', '--timeout=5m'];
const claims = ['first', 'second', 'slow', 'moved', 'lost', 'held', 'silent'] as const;

interface Ready {
  readonly ctx: ScenarioContext;
  readonly explains: Explains;
  readonly node: (what: string) => NodeEmulator;
  /** The volume of a claim: its name and its handle. */
  readonly volume: (claim: (typeof claims)[number]) => { readonly name: string; readonly handle: string };
  readonly attacher: SupervisedProcess;
}

export const explainAttachments: readonly Scenario[] = [
  {
    id: 'O-07',
    title:
      'csi-sidecars explain: a full node, a volume on a node that runs, ends, is lost or is out of service, an attach call that hangs, a detach error, a csi-attacher that is dead: row, turn, exit code and sentence',
    needs: [
      'rbac',
      'controller-manager',
      'driver-faults',
      'driver-journal',
      'driver-settings',
      'host-names',
      'attachment-error-codes',
    ],
    restarts: true,
    run: async (ctx) => {
      const ready = await prepare(ctx);
      await fillNode(ready);
      await hang(ready);
      await move(ready);
      await failToDetach(ready);
      await loseTheLeader(ready);
    },
  },
];

async function prepare(ctx: ScenarioContext): Promise<Ready> {
  const explains = await startExplaining(ctx);
  const limits = Object.entries({ a: 0, b: 0, full: 1, gone: 0 }).map(([what, maxVolumes]) => ({
    name: ctx.nameOf(what),
    maxVolumes,
  }));
  const settings = limits.map(({ name, maxVolumes }) => ({ id: nodeIdOf(name), segments: {}, maxVolumes }));
  await startAttachable(ctx, { settings: { nodes: settings }, flags: ['--enable-topology=false'] });
  const all = await addEmulatedNodes(
    ctx,
    limits.map(({ name, maxVolumes }) => ({
      name,
      driver: stubDriver(ctx.driverName, { nodeId: nodeIdOf(name), maxVolumes }),
    })),
  );
  await ctx.startProvisioner();
  const className = await createClass(ctx);
  const volumes = new Map<string, { readonly name: string; readonly handle: string }>();
  for (const name of claims) await createClaim(ctx, className, { name });
  for (const claim of claims) {
    const { metadata, spec } = (await untilBound(ctx, claim)).volume;
    volumes.set(claim, { name: metadata?.name ?? '', handle: spec?.csi?.volumeHandle ?? '' });
  }
  return {
    ctx,
    explains,
    node: (what) => all.find(({ name }) => name === ctx.nameOf(what))!,
    volume: (claim) => volumes.get(claim)!,
    attacher: await startReplica(ctx, { name: 'replica-a', program: 'csi-attacher', args: quick }),
  };
}

async function strike({ ctx, volume }: Ready, claim: (typeof claims)[number], rule: Rule): Promise<string> {
  return await ctx.driver.control.addFault({ ...rule, volume: volume(claim).handle });
}

interface Rule {
  readonly method: 'ControllerPublishVolume' | 'ControllerUnpublishVolume';
  readonly action: FaultAction;
}

/** Case 11. The driver knows the limit of its node. */
async function fillNode({ ctx, explains, node }: Ready): Promise<void> {
  const nodeName = node('full').name;
  await ctx.create(pods, aPod('first', 'first', { nodeName }));
  await untilRunning(ctx, 'first');
  await ctx.create(pods, aPod('second', 'second', { nodeName }));
  const known = 'claim second: node NS-full can have 1 volumes of DRIVER';
  const crowded = await explains('pod/second', {
    row: 'X52',
    code: 4,
    actor: 'administrator',
    sentence: `${known}; how many it has is not known without --deep`,
  });
  assert.equal(crowded.error?.code, 8);
  const deep = { row: 'X52', code: 4, actor: 'administrator', sentence: `${known}, and has 1` };
  await explains('pod/second', deep, { args: ['--deep'] });
}

/** Case 17. */
async function hang(ready: Ready): Promise<void> {
  const { ctx, explains, node } = ready;
  const hanging = await strike(ready, 'slow', { method: 'ControllerPublishVolume', action: { kind: 'hang' } });
  await ctx.create(pods, aPod('slow', 'slow', { nodeName: node('b').name }));
  const young = 'csi-attacher attaches the volume to NS-b';
  await explains('pvc/slow', { row: 'X50', code: 3, actor: 'csi-attacher', sentence: young });
  const waits = 'csi-attacher waits or works: its queue and its open calls cannot be seen from outside';
  const old = { row: 'X51', code: 3, actor: 'csi-attacher', sentence: waits };
  const { turn, retry } = await explains('pvc/slow', old, { laterMs: 12 * minuteMs });
  assert.equal(turn?.alive, 'yes');
  assert.equal(retry?.exact, false);
  await ctx.driver.control.removeFault(hanging);
}

/** Cases 12 to 14, and 39: the volume of a pod is on another node, which is well, is lost, and is out of service. */
async function move(ready: Ready): Promise<void> {
  const { ctx, explains, node } = ready;
  const { api, namespace } = ctx;
  const a = node('a');
  await ctx.create(pods, aPod('old', 'moved', { nodeName: a.name }));
  await untilRunning(ctx, 'old');
  await ctx.create(pods, aPod('new', 'moved', { nodeName: node('b').name }));
  const has = (state: string): string => `pod old on node NS-a ${state} has the volume`;
  await explains('pvc/moved', { row: 'X46', code: 4, actor: 'user', sentence: has('still') });
  a.freeze();
  // Long enough for a slow machine.
  await api.delete(pods, { namespace, name: 'old' }, { gracePeriodSeconds: 120 });
  await explains('pvc/moved', { row: 'X46', code: 3, actor: 'user', sentence: has('is ending, and still') });

  // A kubelet writes this when its container runtime does not answer.
  const lastTransitionTime = new Date(ctx.testRun.clock.nowMs()).toISOString();
  const condition = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', lastTransitionTime };
  await api.patch(
    { resource: nodes, ref: { name: a.name } },
    { type: 'strategic', body: { status: { conditions: [condition] } } },
    { subresource: 'status' },
  );
  const lost = await explains(
    'pvc/moved',
    {
      row: 'X47',
      code: 4,
      actor: 'administrator',
      sentence:
        'the volume is attached to node NS-a, which is not Ready: kube-controller-manager detaches it by force later (3 of 6 minutes have passed); taint node.kubernetes.io/out-of-service does so at once, if the node is off',
    },
    { laterMs: 3 * minuteMs },
  );
  assert.deepEqual([lost.risk.level, lost.risk.of, lost.risk.ifYou], ['possible', 'corruption', 'taint']);
  assert.deepEqual(lost.next?.command, ['kubectl', 'describe', 'node', a.name]);

  const hanging = await strike(ready, 'moved', { method: 'ControllerUnpublishVolume', action: { kind: 'hang' } });
  const { name } = await untilAttachmentOn(ctx, a).then(({ metadata }) => metadata!);
  await deletePod(ctx, 'old');
  await api.patch(
    { resource: nodes, ref: { name: a.name } },
    { type: 'strategic', body: { spec: { taints: [outOfService] } } },
  );
  await ctx.eventually('kube-controller-manager detaches the volume', async () => {
    const { metadata } = await api.get(volumeAttachments, { name: name ?? '' });
    return metadata?.deletionTimestamp !== undefined;
  });
  const detaching = 'the volume is being detached from NS-a';
  await explains('pvc/moved', { row: 'X48', code: 3, actor: 'csi-attacher', sentence: detaching });
  await ctx.driver.control.removeFault(hanging);
  const runs = 'pod new uses the volume on NS-b and runs';
  const { cost, next } = await explains('pvc/moved', { row: 'X41', code: 0, actor: 'nobody', sentence: runs });
  assert.equal(next, null);
  ctx.note(`${cost.requests} requests for a bound claim whose pod runs`);
  assert.ok(cost.requests <= 15);
  a.thaw();
}

/** Case 15: the node exists, or is gone. */
async function failToDetach(ready: Ready): Promise<void> {
  const { ctx, explains, node, volume } = ready;
  const gone = node('gone');
  const lost = await createAttachment(ctx, volume('lost').name, gone);
  const held = await createAttachment(ctx, volume('held').name, node('b'));
  for (const name of [lost, held]) await untilAttached(ctx, name);
  const fails = (message: string): Rule => ({
    method: 'ControllerUnpublishVolume',
    action: { kind: 'fail', code: 'Internal', message },
  });
  await strike(ready, 'lost', fails('node not found'));
  await strike(ready, 'held', fails('the disk is busy'));
  gone.freeze();
  await ctx.remove(csiNodes, gone.name);
  await ctx.remove(nodes, gone.name);
  for (const name of [lost, held]) await ctx.remove(volumeAttachments, name);

  const busy = 'the driver cannot detach the volume from NS-b (row D8 of csi-attacher)';
  const early = await explains(`va/${held}`, { row: 'X80', code: 3, actor: 'driver', sentence: busy });
  assert.deepEqual([early.risk.level, early.risk.of], ['possible', 'corruption']);
  const absent = 'the driver cannot detach the volume from NS-gone, a node that is gone (row D7 of csi-attacher)';
  const late = { row: 'X80', code: 4, actor: 'driver', sentence: absent };
  const { risk } = await explains(`va/${lost}`, late, { laterMs: 40 * minuteMs });
  assert.equal(risk.level, 'none');
  await ctx.driver.control.clearFaults();
  for (const name of [lost, held]) await untilDetached(ctx, name);
}

/** Case 16. The Lease of a process that is killed is not released. */
async function loseTheLeader({ ctx, explains, node, volume, attacher }: Ready): Promise<void> {
  const silent = await createAttachment(ctx, volume('silent').name, node('b'));
  await untilAttached(ctx, silent);
  await attacher.destroy();
  await ctx.remove(volumeAttachments, silent);
  const sentence =
    'nobody leads csi-attacher of DRIVER: Lease NS/external-attacher-leader-DRIVER was last renewed by replica-a';
  const dead = { row: 'X5', code: 4, actor: 'administrator', sentence };
  const { turn } = await explains(`va/${silent}`, dead, { laterMs: 10 * minuteMs });
  assert.equal(turn?.alive, 'no');
  await attacher.start();
  await untilDetached(ctx, silent);
}
