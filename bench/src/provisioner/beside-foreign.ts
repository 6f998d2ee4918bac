// SPDX-License-Identifier: Apache-2.0
/** Memory beside another driver's objects. The controller-manager is down, so nothing marks the claim: here the bench does. */
import { eventually } from '@csi-sidecars/e2e';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { Place } from '../side-by-side/place.ts';
import { memoryOf } from '../side-by-side/process-cost.ts';
import { createClaim } from './claims.ts';
import type { MeasureId } from './measures.ts';

export async function measureBesideForeign(
  place: Place,
  { settleMs }: Options,
  to: Recording<MeasureId>,
): Promise<void> {
  const { api, clock, patience } = place.stand;
  const { process } = await place.startSidecar();
  const { metadata } = await createClaim(place, 'probe');
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': place.driver.name,
    'volume.beta.kubernetes.io/storage-provisioner': place.driver.name,
  };
  const ref = { namespace: place.namespace, name: 'probe' };
  await api.patch({ resource: persistentVolumeClaims, ref }, { type: 'merge', body: { metadata: { annotations } } });
  // A volume shows that all caches are filled.
  await eventually(patience, {
    what: `a volume beside foreign objects (${process.spec.logFile})`,
    timeoutMs: 120_000,
    check: () => api.get(persistentVolumes, { name: `pvc-${metadata?.uid}` }),
  });
  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rssForeign', rssMib);
  to.record('anonForeign', anonMib);
}
