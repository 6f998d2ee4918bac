// SPDX-License-Identifier: Apache-2.0
/** The controller families of upstream's library, under its names. */
import type { Labels, Metrics, PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';

export interface ProvisionerMetrics {
  provisioned(claim: PersistentVolumeClaim, durationMs: number): void;
  provisionFailed(claim: PersistentVolumeClaim): void;
  /** A deleted claim was released although a volume may exist for it. */
  givenUp(claim: PersistentVolumeClaim): void;
  readonly unsettledDeleted: (claims: number) => void;
  deleted(volume: PersistentVolume, durationMs: number): void;
  deleteFailed(volume: PersistentVolume): void;
}

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createProvisionerMetrics(metrics: Metrics): ProvisionerMetrics {
  const claimLabels = ['class', 'source'];
  const provisioned = metrics.counter({
    name: 'controller_persistentvolumeclaim_provision_total',
    help: 'Total number of persistent volumes provisioned successfully. Broken down by storage class name and source of the claim.',
    labels: claimLabels,
  });
  const provisionFailed = metrics.counter({
    name: 'controller_persistentvolumeclaim_provision_failed_total',
    help: 'Total number of persistent volume provision failed attempts. Broken down by storage class name and source of the claim.',
    labels: claimLabels,
  });
  const provisionSeconds = metrics.histogram({
    name: 'controller_persistentvolumeclaim_provision_duration_seconds',
    help: 'Latency in seconds to provision persistent volumes. Broken down by storage class name and source of the claim.',
    labels: claimLabels,
    buckets,
  });
  const givenUp = metrics.counter({
    name: 'csi_sidecars_provisioning_given_up_total',
    help: 'Total number of deleted claims that were released although a volume may exist for them. Broken down by storage class name and source of the claim.',
    labels: claimLabels,
  });
  const unsettledDeleted = metrics.gauge({
    name: 'csi_sidecars_provisioning_unsettled_deleted_claims',
    help: 'Number of claims that are being deleted or gone, or have a volume of another node, while this process does not know whether it has made a volume for them that is not recorded.',
  });
  const deleted = metrics.counter({
    name: 'controller_persistentvolume_delete_total',
    help: 'Total number of persistent volumes deleted successfully. Broken down by storage class name.',
    labels: ['class'],
  });
  const deleteFailed = metrics.counter({
    name: 'controller_persistentvolume_delete_failed_total',
    help: 'Total number of persistent volume delete failed attempts. Broken down by storage class name.',
    labels: ['class'],
  });
  const deleteSeconds = metrics.histogram({
    name: 'controller_persistentvolume_delete_duration_seconds',
    help: 'Latency in seconds to delete persistent volumes. Broken down by storage class name.',
    labels: ['class'],
    buckets,
  });
  return {
    provisioned: (claim, durationMs) => {
      provisioned.inc(ofClaim(claim));
      provisionSeconds.observe(durationMs / 1000, ofClaim(claim));
    },
    provisionFailed: (claim) => provisionFailed.inc(ofClaim(claim)),
    givenUp: (claim) => givenUp.inc(ofClaim(claim)),
    unsettledDeleted: (claims) => unsettledDeleted.set(claims),
    deleted: (volume, durationMs) => {
      deleted.inc(ofVolume(volume));
      deleteSeconds.observe(durationMs / 1000, ofVolume(volume));
    },
    deleteFailed: (volume) => deleteFailed.inc(ofVolume(volume)),
  };
}

/** Uses only the fields, without the beta annotation and dataSourceRef, as in upstream's series. */
function ofClaim(claim: PersistentVolumeClaim): Labels {
  return { class: claim.spec?.storageClassName ?? '', source: claim.spec?.dataSource?.kind ?? '' };
}

function ofVolume(volume: PersistentVolume): Labels {
  return { class: volume.spec?.storageClassName ?? '' };
}
