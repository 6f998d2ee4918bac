// SPDX-License-Identifier: Apache-2.0
/**
 * How many volumes of a driver the node accepts (MutableCSINodeAllocatableCount): the driver is called again when an attachment was
 * refused because the limit was reached, if its CSIDriver allows that. The key is the driver's name.
 * Not here: the periodic call every `nodeAllocatableUpdatePeriodSeconds`, and the rejection of the pod.
 */
import { done, toObjectKey, type ObjectKey, type Outcome, type VolumeAttachment } from '@csi-sidecars/runtime';
import { createLoop, type SimController, type SimDeps } from '../loop/loop.ts';
import type { Freezer } from './freezer.ts';
import type { NodeView } from './node-view.ts';
import type { Registrations } from './registrations.ts';

export interface LimitLoopDeps {
  readonly sim: SimDeps;
  readonly view: NodeView;
  readonly registrations: Pick<Registrations, 'renew'>;
  readonly freezer: Freezer;
}

export interface LimitLoop extends SimController {
  /** An attachment to this node changed. */
  readonly look: (attachment: VolumeAttachment) => void;
}

/** The number of the code in gRPC. */
const resourceExhausted = 8;

export function createLimitLoop({ sim, view, registrations, freezer }: LimitLoopDeps): LimitLoop {
  const loop = createLoop(sim, { name: 'node-limits', informers: view.informers, reconcile, gate: freezer.gate });

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const driver = view.drivers.lister.get(key);
    if (driver?.spec.nodeAllocatableUpdatePeriodSeconds === undefined) return done;
    await registrations.renew(driver.metadata?.name ?? '', signal);
    return done;
  }

  return {
    run: loop.run,
    look: ({ spec, status }) => {
      if (status?.attachError?.errorCode === resourceExhausted) loop.enqueue(toObjectKey(undefined, spec.attacher));
    },
  };
}
