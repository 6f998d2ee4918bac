// SPDX-License-Identifier: Apache-2.0
/** Memory in a cluster full of another driver's objects. The controller-manager is stopped, so the bench marks the claim itself. */
import { eventually } from '@csi-sidecars/e2e';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { measureBesideForeign } from '../side-by-side/idle-memory.ts';
import { createClaim } from './claims.ts';

export async function besideForeign(
  bed: TestBed,
  options: Pick<Options, 'settleMs'>,
  to: Recording<'rssForeign' | 'anonForeign'>,
): Promise<void> {
  await measureBesideForeign(bed, { ...options, proveSynced: () => provisionOne(bed) }, to);
}

async function provisionOne(bed: TestBed): Promise<void> {
  const { api, patience } = bed.cluster;
  const { metadata } = await createClaim(bed, 'probe');
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': bed.driver.name,
    'volume.beta.kubernetes.io/storage-provisioner': bed.driver.name,
  };
  const ref = { namespace: bed.namespace, name: 'probe' };
  await api.patch({ resource: persistentVolumeClaims, ref }, { type: 'merge', body: { metadata: { annotations } } });
  await eventually(patience, {
    what: 'a volume beside foreign objects',
    timeoutMs: 120_000,
    check: () => api.get(persistentVolumes, { name: `pvc-${metadata?.uid}` }),
  });
}
