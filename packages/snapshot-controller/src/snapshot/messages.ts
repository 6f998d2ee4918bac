// SPDX-License-Identifier: Apache-2.0
/** Texts that users see, as upstream's. */
import type { RecordedEvent } from '@csi-sidecars/runtime';
import { managedByLabel } from '@csi-sidecars/volume';
import { normal, warning } from '../conclusions.ts';
import { kept, notReady, type Problem } from '../status.ts';

export const invalidSource: Problem = notReady(
  'SnapshotValidationError',
  'Exactly one of PersistentVolumeClaimName and VolumeSnapshotContentName should be specified',
);
export const classFailed = (cause: string): Problem =>
  kept('GetSnapshotClassFailed', `Failed to get snapshot class with error ${cause}`);
export const defaultClassFailed = (cause: string): Problem =>
  kept('SetDefaultSnapshotClassFailed', `Failed to set default snapshot class with error ${cause}`);

export const noContentName = (key: string): string => `empty VolumeSnapshotContentName for snapshot ${key}`;
export const contentMissing: Problem = notReady('SnapshotContentMissing', 'VolumeSnapshotContent is missing');
export const contentNotStatic: Problem = notReady(
  'SnapshotContentMismatch',
  'VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one',
);
export const contentNotDynamic = (name: string): Problem =>
  notReady(
    'SnapshotContentMismatch',
    `VolumeSnapshotContent ${name} is pre-provisioned while expecting a dynamically provisioned one`,
  );
export const contentMisbound = (name: string): Problem =>
  notReady('SnapshotContentMisbound', `VolumeSnapshotContent [${name}] is bound to a different snapshot`);
export const misbound: Problem = notReady(
  'SnapshotMisbound',
  'VolumeSnapshotContent is not bound to the VolumeSnapshot correctly',
);
export const handleSet = (key: string): Problem =>
  notReady('SnapshotHandleSet', `Snapshot handle should not be set in content ${key} for dynamic provisioning`);
export const bindFailed = (cause: string): Problem =>
  notReady('SnapshotBindFailed', `Snapshot failed to bind VolumeSnapshotContent, ${cause}`);
export const creationFailed = (cause: string): Problem =>
  notReady('SnapshotContentCreationFailed', `Failed to create snapshot content with error ${cause}`);
export const statusFailed = (cause: string, readiness: Problem['readiness']): Problem => ({
  reason: 'SnapshotStatusUpdateFailed',
  message: `Snapshot status update failed, ${cause}`,
  readiness,
});
export const noInput = (name: string, cause: string): string =>
  `failed to get input parameters to create snapshot ${name}: ${JSON.stringify(cause)}`;
export const groupNotFound = (key: string): string =>
  `updateSnapshotStatus: cannot find the group snapshot for VolumeSnapshot [${key}], will not update snapshot status`;
export const driverMismatch = (
  { volumeDriver, classDriver }: { readonly volumeDriver: string; readonly classDriver: string },
  key: string,
  volume: string,
): string => `Volume CSI driver (${volumeDriver}) mismatch with VolumeSnapshotClass (${classDriver}) ${key}: ${volume}`;

export const claimNotReleased: RecordedEvent = warning(
  'ErrorPVCFinalizer',
  'Error check and remove PVC Finalizer for VolumeSnapshot',
);
export const finalizerFailed = (cause: string): RecordedEvent =>
  warning('SnapshotFinalizerError', `Failed to check and update snapshot: ${cause}`);
export const contentNotCreated = (key: string, cause: string): RecordedEvent =>
  warning(
    'CreateSnapshotContentFailed',
    `Error creating volume snapshot content object for snapshot ${key}: ${cause}.`,
  );
export const beingRestored: RecordedEvent = warning('SnapshotDeletePending', 'Snapshot is being used to restore a PVC');
export const inGroup = (key: string, group: string): RecordedEvent =>
  warning(
    'SnapshotDeletePending',
    `deletion of the individual volume snapshot ${key} is not allowed as it belongs to group snapshot ${group}. Deleting the group snapshot will trigger the deletion of all the individual volume snapshots that are part of the group.`,
  );
/** Upstream has no word for it: it crashes where groups are switched off. */
export const groupUnknown = (group: string, cause: string): RecordedEvent =>
  warning('SnapshotDeletePending', `failed to look for group snapshot ${group}: ${cause}`);
export const contentNotDeleted: RecordedEvent = warning(
  'SnapshotContentObjectDeleteError',
  'Failed to delete snapshot content API object',
);
export const creating = (key: string): RecordedEvent => ({
  ...normal('CreatingSnapshot', `Waiting for a snapshot ${key} to be created by the CSI driver.`),
  isStart: true,
});
export const noNode = (content: string): RecordedEvent =>
  warning(
    'NoNodeForSnapshot',
    `No node can reach the volume: a csi-snapshotter that runs with --node-deployment will take this snapshot once its content has the label of a node: kubectl label volumesnapshotcontent ${content} ${managedByLabel}=NODE`,
  );
export const created = (key: string): RecordedEvent =>
  normal('SnapshotCreated', `Snapshot ${key} was successfully created by the CSI driver.`);
export const ready = (key: string): RecordedEvent => normal('SnapshotReady', `Snapshot ${key} is ready to use.`);
