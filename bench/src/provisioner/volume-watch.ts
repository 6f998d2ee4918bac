// SPDX-License-Identifier: Apache-2.0
/** Watches the claims of one test bed, and records the times of changes (monotonic milliseconds of this process). */
import { persistentVolumeClaims, persistentVolumes, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { anInformer, watching, type Watching } from '../side-by-side/watching.ts';

export interface VolumeWatch extends Watching {
  /** By claim: when the controller-manager marked it for the driver. */
  readonly handedOverAtMs: ReadonlyMap<string, number>;
  /** By claim. */
  readonly createdAtMs: ReadonlyMap<string, number>;
  readonly boundAtMs: ReadonlyMap<string, number>;
  /** By claim: volumes that are gone. */
  readonly goneAtMs: ReadonlyMap<string, number>;
}

export async function watchVolumes({ cluster, namespace }: TestBed): Promise<VolumeWatch> {
  const { clock } = cluster;
  const claims = anInformer(cluster, persistentVolumeClaims, namespace);
  const volumes = anInformer(cluster, persistentVolumes);
  const handedOverAtMs = new Map<string, number>();
  const createdAtMs = new Map<string, number>();
  const boundAtMs = new Map<string, number>();
  const goneAtMs = new Map<string, number>();

  const noteOnce = (times: Map<string, number>, name: string): void => {
    if (!times.has(name)) times.set(name, clock.monotonicMs());
  };
  const seeClaim = ({ metadata, status }: PersistentVolumeClaim): void => {
    const name = metadata?.name ?? '';
    const provisioner = metadata?.annotations?.['volume.kubernetes.io/storage-provisioner'];
    if (provisioner !== undefined) noteOnce(handedOverAtMs, name);
    if (status?.phase === 'Bound') noteOnce(boundAtMs, name);
  };
  claims.addHandler({ add: seeClaim, update: (_previous, claim) => seeClaim(claim) });
  volumes.addHandler({
    add: ({ spec }) => {
      const claim = spec?.claimRef;
      if (claim?.namespace === namespace) createdAtMs.set(claim.name ?? '', clock.monotonicMs());
    },
    delete: ({ object }) => {
      const claim = object.spec?.claimRef;
      if (claim?.namespace === namespace) goneAtMs.set(claim.name ?? '', clock.monotonicMs());
    },
  });

  return { handedOverAtMs, createdAtMs, boundAtMs, goneAtMs, ...(await watching(cluster, [claims, volumes])) };
}
