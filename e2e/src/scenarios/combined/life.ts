// SPDX-License-Identifier: Apache-2.0
/** The whole life of a volume, in which every controller has a part: claim, attach, grow, snapshot, and back. */
import assert from 'node:assert/strict';
import { ignoreNotFound, persistentVolumeClaims } from '@csi-sidecars/runtime';
import type { NodeEmulator } from '@csi-sidecars/sim';
import { allCapabilities, type Capabilities } from '@csi-sidecars/test-driver';
import { volumeSnapshots } from '@csi-sidecars/volume';
import {
  addPaperNodes,
  createAttachment,
  detach,
  nodeIdOf,
  startAttachable,
  untilAttached,
} from '../attacher/steps.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, deleteClaim, findVolume, untilBound } from '../provisioner/steps.ts';
import { ask, untilSize } from '../resizer/steps.ts';
import { createSnapshot, createSnapshotClass, installDefinitions, snapshotOf } from '../snapshots/steps.ts';

/** Arguments with which all controllers retry soon after a failure, and are not slowed down by their limits. */
export const quick: readonly string[] = [
  '--retry-interval-start=300ms',
  '--retry-interval-max=2s',
  '--kube-api-qps=100',
  '--kube-api-burst=200',
];

/** Volumes are attached, and grow without a node. */
const capabilities: Capabilities = {
  ...allCapabilities,
  plugin: ['CONTROLLER_SERVICE'],
  node: allCapabilities.node.filter((type) => type !== 'EXPAND_VOLUME'),
};

export interface Stage {
  readonly nodes: readonly NodeEmulator[];
  readonly storageClass: string;
  readonly snapshotClass: string;
}

/** A driver, nodes that exist in the API only, classes, and snapshot-controller. */
export async function setStage(ctx: ScenarioContext): Promise<Stage> {
  await installDefinitions(ctx);
  const nodes = await addPaperNodes(ctx, ['one', 'two']);
  await startAttachable(ctx, { nodes: nodes.map(({ name }) => nodeIdOf(name)), settings: { capabilities } });
  await ctx.startSidecar('snapshot-controller', { args: quick, implementation: 'ours' });
  return {
    nodes,
    storageClass: await createClass(ctx, { allowVolumeExpansion: true }),
    snapshotClass: await createSnapshotClass(ctx),
  };
}

/** A moment of a disturbed life may take longer than one take-over. */
const momentMs = 120_000;

/** Every moment is waited for, so that the next one finds what it needs. */
export async function live(ctx: ScenarioContext, stage: Stage, index: number): Promise<void> {
  const name = `claim-${index}`;
  await createClaim(ctx, stage.storageClass, { name });
  const { volume } = await untilBound(ctx, name, momentMs);
  const volumeName = volume.metadata?.name ?? '';
  const attachment = await createAttachment(ctx, volumeName, stage.nodes[index % stage.nodes.length]!);
  await untilAttached(ctx, attachment, momentMs);
  await ask(ctx, '2Gi', name);
  await untilSize(ctx, '2Gi', name);
  const snapshot = `snap-${index}`;
  await createSnapshot(ctx, {
    name: snapshot,
    volumeSnapshotClassName: stage.snapshotClass,
    source: { persistentVolumeClaimName: name },
  });
  await ctx.eventually(
    `${snapshot} is ready`,
    async () => (await snapshotOf(ctx, snapshot)).status?.readyToUse === true,
    momentMs,
  );
  await ctx.remove(volumeSnapshots, snapshot);
  const ref = { namespace: ctx.namespace, name: snapshot };
  await ctx.eventually(
    `${snapshot} is gone`,
    async () => (await ctx.api.get(volumeSnapshots, ref).catch(ignoreNotFound)) === undefined,
    momentMs,
  );
  await detach(ctx, attachment);
  await deleteClaim(ctx, name);
  await ctx.eventually(
    `${volumeName} is gone`,
    async () => (await findVolume(ctx, volumeName)) === undefined,
    momentMs,
  );
}

/** Nothing in the cluster, and nothing in the storage. */
export async function assertNothingIsLeft(ctx: ScenarioContext): Promise<void> {
  await ctx.eventually('no claim is left', async () => {
    const { items } = await ctx.api.list(persistentVolumeClaims, { namespace: ctx.namespace });
    return items.length === 0;
  });
  await ctx.onDriver(async () => {
    const { control } = ctx.driver;
    assert.deepEqual([await control.volumes(), await control.snapshots()], [[], []]);
  });
}
