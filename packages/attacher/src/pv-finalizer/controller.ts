// SPDX-License-Identifier: Apache-2.0
/** The PersistentVolume loop assembled: what wakes it, and one run. */
import {
  done,
  type Handler,
  type PersistentVolume,
  type Reconcile,
  runDecisions,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { decide } from './decide.ts';
import { observe, type ObserveDeps } from './observe.ts';
import { type PerformDeps, release } from './perform.ts';
import { toVolumeName, type VolumeName } from './state.ts';
import { isReleasable } from './volume-facts.ts';

export interface ReleaseLoopDeps extends PerformDeps {
  readonly caches: ObserveDeps;
}

/** Assumes that both caches are synced: a VolumeAttachment that is not known yet holds nothing back. */
export function createReleaseReconcile(deps: ReleaseLoopDeps): Reconcile<VolumeName> {
  return async (name, signal) => {
    const observed = observe(deps.caches, name);
    if (observed === undefined) return done; // F1
    const { conclusion } = await runDecisions(observed, {
      subject: `volume ${name}`,
      decide: (state) => decide(state, deps.driverName),
      perform: async (_release, state) => ({ ...state, ...(await release(deps, state, signal)) }),
    });
    return conclusion.outcome;
  };
}

/** Volumes that stay, which are nearly all, never reach the queue. */
export function volumeHandler(driverName: string, enqueue: (name: VolumeName) => void): Handler<PersistentVolume> {
  const consider = (volume: PersistentVolume): void => {
    if (isReleasable(volume, driverName)) enqueue(toVolumeName(volume.metadata?.name ?? ''));
  };
  return { add: consider, update: (_previous, current) => consider(current) };
}

/** The end of an attachment may be the end of the wait, whoever attached. */
export function attachmentHandler(enqueue: (name: VolumeName) => void): Handler<VolumeAttachment> {
  return {
    delete: ({ object }) => {
      const { persistentVolumeName } = object.spec.source;
      if (persistentVolumeName !== undefined) enqueue(toVolumeName(persistentVolumeName));
    },
  };
}
