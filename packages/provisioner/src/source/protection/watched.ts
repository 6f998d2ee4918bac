// SPDX-License-Identifier: Apache-2.0
/** What the source loops need of claims and snapshots, and how little of it is kept. */
import { definedOnly, identityOf, type InformerOptions, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { type VolumeSnapshot, volumeSnapshots } from '@csi-sidecars/volume';
import { annotationsOf } from '../../metadata.ts';
import { annotations, cloningProtection, snapshotSourceProtection } from '../../names.ts';
import { referencedBy } from '../source.ts';
import { isPending } from './need.ts';

/** A claim of any driver that may still need its source, or that waits for its clones before it goes. */
export function concernsSources(claim: PersistentVolumeClaim): boolean {
  return isDyingSource(claim) || (isPending(claim) && referencedBy(claim) !== undefined);
}

export function isDyingSource({ metadata }: PersistentVolumeClaim): boolean {
  return metadata?.deletionTimestamp !== undefined && metadata.finalizers?.includes(cloningProtection) === true;
}

const keptAnnotations = [
  annotations.storageProvisioner,
  annotations.betaStorageProvisioner,
  annotations.migratedTo,
  annotations.selectedNode,
];

/** For claims that nothing is written to from the cache. */
export function trimClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const { metadata, spec, status } = claim;
  const found = annotationsOf(claim);
  const kept: Record<string, string> = {};
  for (const name of keptAnnotations) {
    const value = found[name];
    if (value !== undefined) kept[name] = value;
  }
  return {
    metadata: {
      ...identityOf(metadata),
      annotations: kept,
      ...(isDyingSource(claim) ? { finalizers: [cloningProtection] } : {}),
      ...definedOnly({ deletionTimestamp: metadata?.deletionTimestamp }),
    },
    spec: definedOnly({
      volumeName: spec?.volumeName,
      dataSource: spec?.dataSource,
      dataSourceRef: spec?.dataSourceRef,
    }),
    status: definedOnly({ phase: status?.phase }),
  };
}

/** Snapshots with our finalizer. The resync is the sweep. */
export function watchedSnapshots(sweepIntervalMs: number): InformerOptions<VolumeSnapshot> {
  return {
    resource: volumeSnapshots,
    resyncMs: sweepIntervalMs,
    transform: {
      id: 'provisioner snapshots',
      apply: ({ metadata }) =>
        metadata?.finalizers?.includes(snapshotSourceProtection) === true
          ? {
              metadata: {
                ...identityOf(metadata),
                finalizers: [snapshotSourceProtection],
                ...definedOnly({ deletionTimestamp: metadata.deletionTimestamp }),
              },
            }
          : undefined,
    },
  };
}
