// SPDX-License-Identifier: Apache-2.0
/** O-08: what `csi-sidecars explain` says about volumes that grow, and about claims and volumes that do not go away, on a real API server. */
import assert from 'node:assert/strict';
import { persistentVolumeClaims, persistentVolumes, pods } from '@csi-sidecars/runtime';
import { addPaperNode } from '../attacher/steps.ts';
import type { ScenarioContext } from '../context.ts';
import { aPod } from '../objects.ts';
import { untilRunning } from '../pod-life.ts';
import { deletePod } from '../pods.ts';
import { createClaim, createClass, deleteClaim, untilBound, untilVolumeGone } from '../provisioner/steps.ts';
import { ask, plainDriver } from '../resizer/steps.ts';
import type { Scenario } from '../scenario.ts';
import { untilGone } from '../snapshots/steps.ts';
import { minuteMs, startExplaining, type Explains } from './explaining.ts';
import { writePodStatus } from './program-pods.ts';

const quick = ['--retry-interval-start=300ms', '--retry-interval-max=1s'];
/** A call that hangs does so until its fault is removed. */
const patient = [...quick, '--timeout=5m'];
const claims = ['infeasible', 'grown', 'used', 'finished', 'held', 'refused', 'kept'] as const;

interface Volume {
  readonly name: string;
  readonly handle: string;
}

export const explainEndings: readonly Scenario[] = [
  {
    id: 'O-08',
    title:
      'csi-sidecars explain: growth that the driver refuses or that waits for a pod; a claim that pods hold, volumes that finalizers hold, that cannot be deleted or are kept: row, turn, exit code and sentence',
    needs: ['rbac', 'controller-manager', 'driver-faults', 'driver-settings', 'expansion-recovery'],
    run: async (ctx) => {
      const explains = await startExplaining(ctx);
      await ctx.startDriver(plainDriver);
      await ctx.startProvisioner({ args: patient });
      await ctx.startResizer({ args: quick });
      const className = await createClass(ctx, { allowVolumeExpansion: true });
      for (const name of claims) await createClaim(ctx, className, { name });
      const volumes = new Map<string, Volume>();
      for (const name of claims) {
        const { metadata, spec } = (await untilBound(ctx, name)).volume;
        volumes.set(name, { name: metadata?.name ?? '', handle: spec?.csi?.volumeHandle ?? '' });
      }
      const volume = (claim: (typeof claims)[number]): Volume => volumes.get(claim)!;
      await grow(ctx, explains, volume('infeasible'));
      await holdByPods(ctx, explains);
      await holdByFinalizers(ctx, explains, volume('held'));
      await refuseToDelete(ctx, explains, volume('refused'));
      await keep(ctx, explains, volume('kept'));
    },
  },
];

/** Cases 30 and 32. */
async function grow(ctx: ScenarioContext, explains: Explains, { handle }: Volume): Promise<void> {
  await ctx.driver.control.addFault({
    method: 'ControllerExpandVolume',
    volume: handle,
    action: { kind: 'fail', code: 'OutOfRange', message: 'the pool has no room' },
  });
  await ask(ctx, '2Gi', 'infeasible');
  await ask(ctx, '2Gi', 'grown');
  await explains('pvc/infeasible', {
    row: 'X61',
    code: 4,
    actor: 'user',
    sentence: 'the driver cannot make a volume of 2Gi; any size above 1Gi may be asked for',
  });
  await explains('pvc/grown', {
    row: 'X62',
    code: 3,
    actor: 'user',
    sentence: 'the volume has grown; its file system grows when a pod uses it',
  });
}

/** Case 25. A pod that has ended holds its claim as well. */
async function holdByPods(ctx: ScenarioContext, explains: Explains): Promise<void> {
  const { name: nodeName } = await addPaperNode(ctx, 'node');
  await ctx.create(pods, aPod('writer', 'used', { nodeName }));
  await ctx.create(pods, aPod('job', 'finished', { nodeName }));
  await untilRunning(ctx, 'writer');
  await untilRunning(ctx, 'job');
  await writePodStatus(ctx, 'job', { phase: 'Succeeded' });
  await deleteClaim(ctx, 'used');
  await deleteClaim(ctx, 'finished');
  await explains('pvc/used', { row: 'X71', code: 4, actor: 'user', sentence: 'pod writer uses the claim' });
  const ended = 'pod job, which has ended, uses the claim';
  await explains('pvc/finished', { row: 'X71', code: 4, actor: 'user', sentence: ended });
  for (const [pod, claim] of [
    ['writer', 'used'],
    ['job', 'finished'],
  ] as const) {
    await deletePod(ctx, pod);
    await untilGone(ctx, persistentVolumeClaims, claim);
  }
}

/** Case 27. */
async function holdByFinalizers(ctx: ScenarioContext, explains: Explains, { name }: Volume): Promise<void> {
  const foreign = 'example.com/keep';
  const target = { resource: persistentVolumes, ref: { name } };
  const { metadata } = await ctx.api.get(persistentVolumes, { name });
  const finalizers = [...(metadata?.finalizers ?? []), foreign];
  await ctx.api.patch(target, { type: 'merge', body: { metadata: { finalizers } } });
  await ctx.remove(persistentVolumes, name);
  await explains(`pv/${name}`, {
    row: 'X72',
    code: 4,
    actor: 'user',
    sentence: `claim NS/held is bound to it; finalizers: kubernetes.io/pv-protection (kube-controller-manager), ${foreign} (guess: example.com), external-provisioner.volume.kubernetes.io/finalizer (csi-provisioner)`,
  });
  await deleteClaim(ctx, 'held');
  const owner = 'its owner has to take it off (guess: example.com)';
  const { findings } = await explains(`pv/${name}`, {
    row: 'X87',
    code: 4,
    actor: 'other',
    sentence: `finalizer ${foreign} is neither of Kubernetes nor of CSI: ${owner}`,
  });
  assert.deepEqual(findings, ['stuck-3']);
  await ctx.api.patch(target, { type: 'merge', body: { metadata: { finalizers: null } } });
  await untilVolumeGone(ctx, name);
}

/** Case 28: at the fourth of these failures the driver takes its time, and after ten of them it is a person's turn. */
async function refuseToDelete(ctx: ScenarioContext, explains: Explains, { name, handle }: Volume): Promise<void> {
  const { control } = ctx.driver;
  const call = { method: 'DeleteVolume', volume: handle };
  const pause = await control.addFault({ ...call, skip: 3, action: { kind: 'hang' } });
  const message = 'the volume has dependent snapshots';
  const failure = await control.addFault({ ...call, action: { kind: 'fail', code: 'Internal', message } });
  await deleteClaim(ctx, 'refused');
  const sentence = 'DeleteVolume has failed N times; snapshots of it may have to go first';
  await explains(`pv/${name}`, { row: 'X77', code: 3, actor: 'driver', sentence });
  await control.removeFault(pause);
  const { risk, error } = await explains(`pv/${name}`, { row: 'X77', code: 4, actor: 'storage', sentence });
  assert.ok((error?.count ?? 0) >= 10);
  assert.deepEqual([risk.level, risk.of, risk.ifYou], ['certain', 'leak', 'removeFinalizer']);
  await control.removeFault(failure);
  await untilVolumeGone(ctx, name);
}

/** Case 29. */
async function keep(ctx: ScenarioContext, explains: Explains, { name }: Volume): Promise<void> {
  const target = { resource: persistentVolumes, ref: { name } };
  const policy = async (persistentVolumeReclaimPolicy: 'Retain' | 'Delete'): Promise<void> => {
    await ctx.api.patch(target, { type: 'merge', body: { spec: { persistentVolumeReclaimPolicy } } });
  };
  await policy('Retain');
  await deleteClaim(ctx, 'kept');
  await explains(
    `pv/${name}`,
    { row: 'X88', code: 0, actor: 'nobody', sentence: 'released, and kept on purpose: its policy is Retain' },
    { laterMs: minuteMs },
  );
  await policy('Delete');
}
