// SPDX-License-Identifier: Apache-2.0
/** The little of kube-controller-manager's PV controller that decides whether a story ends well. */
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import type { TestCluster } from '@csi-sidecars/test-driver/testing';
import type { Fixture } from './provisioner-fixture.ts';

/** Binds and releases, as kube-controller-manager would, and lets claims go that nothing holds. */
export function playController({ server }: TestCluster): void {
  for (const volume of server.objects.list(persistentVolumes)) {
    const owner = volume.spec?.claimRef;
    const ref = { namespace: owner?.namespace, name: owner?.name ?? '' };
    const claim = server.objects.get(persistentVolumeClaims, ref);
    const isThere = claim?.metadata?.uid === owner?.uid;
    const phase = isThere ? 'Bound' : 'Released';
    const name = volume.metadata?.name ?? '';
    // No claim is bound to a PersistentVolume that is being deleted.
    if (isThere && volume.metadata?.deletionTimestamp !== undefined && volume.status?.phase !== 'Bound') continue;
    if (volume.status?.phase !== phase) {
      server.objects.change(persistentVolumes, { name }, (current: PersistentVolume) => ({
        ...current,
        status: { phase },
      }));
    }
    if (isThere && (claim?.spec?.volumeName ?? '') === '') {
      server.objects.change(persistentVolumeClaims, ref, (current: PersistentVolumeClaim) => ({
        ...current,
        spec: { ...current.spec, volumeName: name },
        status: { phase: 'Bound' },
      }));
    }
  }
}

/** Until nothing that waits for the longest backoff of a short story is left. */
export async function untilQuiet(p: Fixture): Promise<void> {
  for (let round = 0; round < 8; round++) {
    playController(p);
    await p.clock.advance(80_000);
    await p.settle();
  }
}
