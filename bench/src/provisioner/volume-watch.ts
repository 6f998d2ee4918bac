// SPDX-License-Identifier: Apache-2.0
/** Watches what becomes of the claims of one place, and notes when (monotonic milliseconds of this process). */
import { eventually } from '@csi-sidecars/e2e';
import {
  createInformer,
  persistentVolumeClaims,
  persistentVolumes,
  silentLogger,
  systemRandom,
  type PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import type { Place } from './place.ts';

export interface VolumeWatch extends AsyncDisposable {
  /** Claims that the controller-manager has handed to the driver. */
  readonly handedOver: ReadonlySet<string>;
  /** By claim. */
  readonly createdAtMs: ReadonlyMap<string, number>;
  readonly boundAtMs: ReadonlyMap<string, number>;
  /** By claim, volumes that are gone. */
  readonly goneAtMs: ReadonlyMap<string, number>;
  until(what: string, check: () => boolean): Promise<void>;
}

/** Longer than anything sensible takes: a run must end. */
const patienceMs = 240_000;

export async function watchVolumes({ stand, namespace }: Place): Promise<VolumeWatch> {
  const { api: client, clock, patience } = stand;
  const deps = { client, clock, random: systemRandom(), logger: silentLogger };
  const claims = createInformer(deps, { resource: persistentVolumeClaims, namespace });
  const volumes = createInformer(deps, { resource: persistentVolumes });
  const handedOver = new Set<string>();
  const createdAtMs = new Map<string, number>();
  const boundAtMs = new Map<string, number>();
  const goneAtMs = new Map<string, number>();

  const seeClaim = ({ metadata, status }: PersistentVolumeClaim): void => {
    const name = metadata?.name ?? '';
    if (metadata?.annotations?.['volume.kubernetes.io/storage-provisioner'] !== undefined) handedOver.add(name);
    if (status?.phase === 'Bound' && !boundAtMs.has(name)) boundAtMs.set(name, clock.monotonicMs());
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

  const stop = new AbortController();
  const running = Promise.all([claims.run(stop.signal), volumes.run(stop.signal)]);
  await Promise.all([claims.whenSynced(patience.signal), volumes.whenSynced(patience.signal)]);
  return {
    handedOver,
    createdAtMs,
    boundAtMs,
    goneAtMs,
    until: async (what, check) => void (await eventually(patience, { what, check, timeoutMs: patienceMs })),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}
