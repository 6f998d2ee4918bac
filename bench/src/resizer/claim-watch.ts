// SPDX-License-Identifier: Apache-2.0
/** Watches the claims of one test bed, and records when each was done (monotonic milliseconds of this process). */
import { persistentVolumeClaims, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { createBoundClaims } from '../side-by-side/bound-claims.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { anInformer, watching, type Watching } from '../side-by-side/watching.ts';
import { askForMore, classAfter, sizeAfter } from './claims.ts';

export interface ClaimWatch extends Watching {
  /** By claim: it has the size, and nothing of the expansion is left in its status. */
  readonly expandedAtMs: ReadonlyMap<string, number>;
  /** By claim: it has the class, and nothing of the modification is left in its status. */
  readonly modifiedAtMs: ReadonlyMap<string, number>;
}

export async function watchClaims(bed: TestBed): Promise<ClaimWatch> {
  const { cluster, namespace } = bed;
  const claims = anInformer(cluster, persistentVolumeClaims, namespace);
  const expandedAtMs = new Map<string, number>();
  const modifiedAtMs = new Map<string, number>();
  const noteOnce = (times: Map<string, number>, name: string): void => {
    if (!times.has(name)) times.set(name, cluster.clock.monotonicMs());
  };
  const see = ({ metadata, status = {} }: PersistentVolumeClaim): void => {
    const name = metadata?.name ?? '';
    const isSettled = status.allocatedResourceStatuses?.['storage'] === undefined;
    if (status.capacity?.['storage'] === sizeAfter && isSettled) noteOnce(expandedAtMs, name);
    const isModified = status.currentVolumeAttributesClassName === classAfter(bed);
    if (isModified && status.modifyVolumeStatus === undefined) noteOnce(modifiedAtMs, name);
  };
  claims.addHandler({ add: see, update: (_previous, claim) => see(claim) });
  return { expandedAtMs, modifiedAtMs, ...(await watching(cluster, [claims])) };
}

/** Expands one new claim; resolves with the time when it was seen done. */
export async function expandOne(bed: TestBed, watch: ClaimWatch, what: string): Promise<number> {
  const names = namesOf(bed, what, 1);
  await createBoundClaims(bed, names);
  await askForMore(bed, names);
  await watch.until(`${what} is expanded`, () => names.every((name) => watch.expandedAtMs.has(name)));
  return Math.max(...names.map((name) => watch.expandedAtMs.get(name) ?? NaN));
}
