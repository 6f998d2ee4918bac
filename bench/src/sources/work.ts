// SPDX-License-Identifier: Apache-2.0
/** Claims that wait for volumes from one source when csi-provisioner starts, and when the source loses its protection. */
import { eventually } from '@csi-sidecars/e2e';
import { measureWaiting, settleAndDelete, watchVolumes } from '../provisioner/claims.ts';
import { foreign } from '../provisioner/work.ts';
import type { Part } from '../side-by-side/bench.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import {
  createCopies,
  createForeignSources,
  createSource,
  deleteOrigin,
  isFree,
  prepareSources,
  type Copy,
} from './objects.ts';

/** Upstream finds a released source claim with a retry, up to five minutes later. */
const freeWithinMs = 330_000;

const copies =
  (what: Copy): Part =>
  async (environment, options, to) => {
    const { clock, patience } = environment.cluster;
    await createSource(environment, what);
    const names = namesOf(environment, what, options.load);
    await using watch = await watchVolumes(environment);
    const whenBound = async (boundMs: number): Promise<void> => {
      if (what === 'clone') await deleteOrigin(environment);
      await eventually(patience, {
        what: 'the source is free',
        timeoutMs: freeWithinMs,
        check: async () => (await isFree(environment, what)) || undefined,
      });
      to.record(`${what} freeTime`, (clock.monotonicMs() - boundMs) / 1000);
    };
    const create = (): Promise<void> => createCopies(environment, names, what);
    const waiting = { watch, names, create, prefix: `${what} `, unit: what, whenBound };
    const { sidecar } = await measureWaiting(environment, waiting, to);
    await settleAndDelete(environment, { ...options, sidecar, watch, names, as: ` ${what}` }, to);
  };

export { prepareSources as prepare };
export const parts: Readonly<Record<string, Part>> = {
  restores: copies('restore'),
  clones: copies('clone'),
  foreign: async (environment, options, to) => {
    await createForeignSources(environment, options.foreign);
    await foreign(environment, options, to);
  },
};
