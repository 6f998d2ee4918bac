// SPDX-License-Identifier: Apache-2.0
/** Pods of scenarios on emulated nodes: they run as soon as their volume is mounted, and are removed when it is unmounted. */
import assert from 'node:assert/strict';
import { pods } from '@csi-sidecars/runtime';
import type { NodeEmulator } from '@csi-sidecars/sim';
import type { ScenarioContext } from './context.ts';
import { aPod } from './objects.ts';

export interface PodOptions {
  readonly name: string;
  readonly node: Pick<NodeEmulator, 'name'>;
  /** Default: `claim`. */
  readonly claim?: string;
}

/** A node selector: the scheduler has only one choice. */
export async function createPod(ctx: ScenarioContext, { name, node, claim = 'claim' }: PodOptions): Promise<void> {
  const nodeSelector = { 'kubernetes.io/hostname': node.name };
  await ctx.create(pods, aPod(name, claim, { nodeSelector, terminationGracePeriodSeconds: 30 }));
}

/** The path of the only volume that is mounted there. */
export function mountedAt(node: Pick<NodeEmulator, 'mounts'>): string {
  const [path] = [...node.mounts().values()].flat();
  assert.ok(path !== undefined, 'a running pod has its volume mounted');
  return path;
}

/** Deletes the pod without waiting for its node, as for a node that will not come back. */
export async function deletePod(ctx: ScenarioContext, name: string): Promise<void> {
  await ctx.api.delete(pods, { namespace: ctx.namespace, name }, { gracePeriodSeconds: 0 });
}
