// SPDX-License-Identifier: Apache-2.0
/** Texts that users see, as upstream's. */
import type { RecordedEvent } from '@csi-sidecars/runtime';
import { normal, warning } from '../conclusions.ts';
import { kept, notReady, type Problem } from '../status.ts';

export const invalidSource: Problem = notReady(
  'GroupSnapshotValidationError',
  'Exactly one of Selector and VolumeGroupSnapshotContentName should be specified',
);
export const classFailed = (cause: string): Problem =>
  kept('GetGroupSnapshotClassFailed', `failed to get group snapshot class with error ${cause}`);
export const defaultClassFailed = (cause: string): Problem =>
  kept('SetDefaultGroupSnapshotClassFailed', `Failed to set default group snapshot class with error ${cause}`);

export const noContentName = (key: string): string => `empty VolumeGroupSnapshotContentName for group snapshot ${key}`;
export const contentMissing: Problem = notReady('GroupSnapshotContentMissing', 'VolumeGroupSnapshotContent is missing');
export const contentNotStatic: Problem = notReady(
  'GroupSnapshotContentMismatch',
  'VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one',
);
export const contentNotDynamic = (name: string): Problem =>
  notReady(
    'GroupSnapshotContentMismatch',
    `VolumeGroupSnapshotContent ${name} is pre-provisioned while expecting a dynamically provisioned one`,
  );
export const contentMisbound = (name: string): Problem =>
  notReady(
    'GroupSnapshotContentMisbound',
    `VolumeGroupSnapshotContent [${name}] is bound to a different group snapshot`,
  );
export const misbound: Problem = notReady(
  'GroupSnapshotMisbound',
  'VolumeGroupSnapshotContent is not bound to the VolumeGroupSnapshot correctly',
);
export const bindFailed = (cause: string): Problem =>
  notReady('GroupSnapshotBindFailed', `GroupSnapshot failed to bind VolumeGroupSnapshotContent, ${cause}`);
export const creationFailed = (cause: string): Problem =>
  notReady('GroupSnapshotContentCreationFailed', `failed to create group snapshot content with error ${cause}`);
export const statusFailed = (cause: string, readiness: Problem['readiness']): Problem => ({
  reason: 'GroupSnapshotStatusUpdateFailed',
  message: `GroupSnapshot status update failed, ${cause}`,
  readiness,
});
export const noInput = (name: string, cause: string): string =>
  `failed to get input parameters to create group snapshot ${name}: ${JSON.stringify(cause)}`;

export const listFailed = (selector: string, cause: string): string =>
  `failed to list PVCs with label selector ${selector}: ${JSON.stringify(cause)}`;
export const nothingSelected = (selector: string): string =>
  `label selector ${selector} for group snapshot not applied to any PVC`;

const contentNotPlanned = (message: string): RecordedEvent => warning('CreateGroupSnapshotContentFailed', message);
export const volumeNotCsi = (volume: string): RecordedEvent =>
  contentNotPlanned(`Cannot snapshot a non-CSI volume: ${volume}`);
export const driverMismatch = (
  { volumeDriver, classDriver }: { readonly volumeDriver: string; readonly classDriver: string },
  key: string,
  volume: string,
): RecordedEvent =>
  contentNotPlanned(
    `Volume CSI driver (${volumeDriver}) mismatch with VolumeGroupSnapshotClass (${classDriver}) ${key}: ${volume}`,
  );
export const contentNotCreated = (key: string, cause: string): RecordedEvent =>
  contentNotPlanned(`Error creating volume group snapshot content object for group snapshot ${key}: ${cause}.`);

export const noNode: RecordedEvent = warning(
  'NoNodeForGroupSnapshot',
  'No node can reach all volumes of the group: a csi-snapshotter that runs with --node-deployment will not take this group snapshot. Take group snapshots of volumes that one node can reach.',
);

export const finalizerFailed = (cause: string): RecordedEvent =>
  warning('GroupSnapshotFinalizerError', `Failed to check and update group snapshot: ${cause}`);
export const beingRestored = (member: string, group: string): RecordedEvent =>
  warning(
    'SnapshotDeletePending',
    `Snapshot ${member} belonging to VolumeGroupSnapshot ${group} is being used to restore a PVC`,
  );
export const contentNotDeleted: RecordedEvent = warning(
  'GroupSnapshotContentObjectDeleteError',
  'Failed to delete group snapshot content API object',
);
export const memberNotDeleted = (member: string, group: string, cause: string): RecordedEvent =>
  warning(
    'SnapshotDeleteError',
    `failed to delete snapshot API object ${member} part of group snapshot ${group}: ${cause}`,
  );
export const creating = (key: string): RecordedEvent => ({
  ...normal('CreatingGroupSnapshot', `Waiting for a group snapshot ${key} to be created by the CSI driver.`),
  isStart: true,
});
export const created = (key: string): RecordedEvent =>
  normal('GroupSnapshotCreated', `GroupSnapshot ${key} was successfully created by the CSI driver.`);
export const ready = (key: string): RecordedEvent =>
  normal('GroupSnapshotReady', `GroupSnapshot ${key} is ready to use.`);
