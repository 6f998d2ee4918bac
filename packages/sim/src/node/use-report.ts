// SPDX-License-Identifier: Apache-2.0
/** `volumesInUse` of the node's status: the only protection against detaching a volume while it is mounted. */
import { done, nodes, toObjectKey, type Outcome } from '@csi-sidecars/runtime';
import { createLoop, type SimController, type SimDeps } from '../loop/loop.ts';
import type { Freezer } from './freezer.ts';
import type { MountTable } from './mount-table.ts';
import type { NodeView } from './node-view.ts';

export interface UseReportDeps {
  readonly sim: SimDeps;
  readonly view: NodeView;
  readonly table: MountTable;
  readonly freezer: Freezer;
  readonly nodeName: string;
}

export interface UseReport extends SimController {
  /** The table changed. */
  readonly renew: () => void;
}

/** One key and one worker: the list is written as a whole, so writes must stay in order. */
export function createUseReport({ sim, view, table, freezer, nodeName }: UseReportDeps): UseReport {
  const key = toObjectKey(undefined, nodeName);
  const loop = createLoop(sim, {
    name: 'node-use',
    informers: view.informers,
    reconcile,
    workers: 1,
    gate: freezer.gate,
  });

  async function reconcile(_key: string, signal: AbortSignal): Promise<Outcome> {
    const volumesInUse = table.inUse();
    const reported = view.node()?.status?.volumesInUse ?? [];
    if (reported.length === volumesInUse.length && volumesInUse.every((name) => reported.includes(name))) return done;
    const target = { resource: nodes, ref: { name: nodeName } };
    const body = { status: { volumesInUse: volumesInUse.length === 0 ? null : volumesInUse } };
    view.nodes.remember(await sim.client.patch(target, { type: 'merge', body }, { subresource: 'status', signal }));
    return done;
  }

  return { run: loop.run, renew: () => loop.enqueue(key) };
}
