// SPDX-License-Identifier: Apache-2.0
/** Texts that users see on claims. Those of upstream are spelled as upstream spells them. */
import type { RecordedEvent } from '@csi-sidecars/runtime';

const eventReasons = {
  provisioning: 'Provisioning',
  failed: 'ProvisioningFailed',
  succeeded: 'ProvisioningSucceeded',
} as const;

export const provisioning = (namespace: string, name: string): RecordedEvent => ({
  type: 'Normal',
  reason: eventReasons.provisioning,
  message: `External provisioner is provisioning volume for claim "${namespace}/${name}"`,
}); // C13

export const populator: RecordedEvent = {
  type: 'Normal',
  reason: eventReasons.provisioning,
  message: 'Assuming an external populator will provision the volume',
}; // C15

export const failed = (message: string): RecordedEvent => ({ type: 'Warning', reason: eventReasons.failed, message });

export const infeasible = (message: string): RecordedEvent =>
  failed(`Volume provisioning failed with infeasible error. Retries will be delayed. ${message}`); // C24

export const succeeded = (volumeName: string): RecordedEvent => ({
  type: 'Normal',
  reason: eventReasons.succeeded,
  message: `Successfully provisioned volume ${volumeName}`,
}); // C32

export const classMissing = (className: string): string => `storageClass "${className}" not found`; // C8

export const classForeign = (className: string, provisioner: string): string =>
  `storageClass "${className}" belongs to provisioner ${provisioner}`; // C12

export const attributesForeign = (name: string, drivers: { readonly of: string; readonly ours: string }): string =>
  `VAC ${name} referenced in PVC is for driver ${drivers.of} which does not match driver name ${drivers.ours}`; // C20

export const unsupportedSource = (what: string): string =>
  `creating a volume from ${what} is not supported by this provisioner`; // C14

export const unsupportedMigration = (plugin: string): string =>
  `in-tree migration is not supported by this provisioner: StorageClass with provisioner ${plugin}`; // C14

/** Why a claim that should go stays: appended to failures of a claim that carries the finalizer and is being deleted. */
export const whileSettling = (message: string): string =>
  `${message}; the claim is kept until it is known whether a volume was created for it`;

export const nameTaken = (volumeName: string, owner: string): string =>
  `PersistentVolume ${volumeName} already exists and belongs to claim ${owner}`; // C11, C34

export const nameConflict = (volumeName: string, volumeHandle: string): string =>
  `PersistentVolume ${volumeName} already exists with another volume; volume ${volumeHandle} is kept`; // C35

export const saveRefused = (volumeName: string, message: string): string =>
  `error saving volume ${volumeName}: ${message}`; // C35

export const orphaned = (message: string, facts: { readonly volumeName: string; readonly cause: string }): string =>
  `${message}. Cleanup of volume ${facts.volumeName} failed, volume is orphaned: ${facts.cause}`; // C30
