// SPDX-License-Identifier: Apache-2.0
/**
 * The source of a claim's data. dataSource takes precedence over dataSourceRef. Snapshots and claims are sources
 * that this provisioner does not support yet, nor any source in another namespace; any other kind is left to a populator.
 */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';

export type DataSource =
  | { readonly kind: 'none' }
  | { readonly kind: 'populator' }
  | { readonly kind: 'unsupported'; readonly what: string }
  | { readonly kind: 'refused'; readonly message: string };

const snapshotGroup = 'snapshot.storage.k8s.io';

export function toDataSource(
  claim: PersistentVolumeClaim,
  features: { readonly crossNamespaceVolumeDataSource: boolean },
): DataSource {
  const { dataSource, dataSourceRef } = claim.spec ?? {};
  const source = dataSource ?? dataSourceRef;
  if (source === undefined) return { kind: 'none' };
  const namespace = dataSource === undefined ? (dataSourceRef?.namespace ?? '') : '';
  if (namespace !== '' && !features.crossNamespaceVolumeDataSource) {
    const message = 'dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature is disabled';
    return { kind: 'refused', message };
  }
  if (source.name === '') {
    return { kind: 'refused', message: `the PVC source not found for PVC ${claim.metadata?.name ?? ''}` };
  }
  const group = source.apiGroup ?? '';
  if (source.kind === 'VolumeSnapshot' && group !== snapshotGroup) {
    const message = `the PVC source does not belong to the right APIGroup. Expected ${snapshotGroup}, Got ${group}`;
    return { kind: 'refused', message };
  }
  if (source.kind === 'VolumeSnapshot') return { kind: 'unsupported', what: `VolumeSnapshot ${source.name}` };
  if (source.kind === 'PersistentVolumeClaim')
    return { kind: 'unsupported', what: `PersistentVolumeClaim ${source.name}` };
  // A ReferenceGrant would have to permit it, and those are not read yet.
  if (namespace !== '' && namespace !== claim.metadata?.namespace) {
    return { kind: 'unsupported', what: `${source.kind} ${namespace}/${source.name} of another namespace` };
  }
  return { kind: 'populator' };
}
