// SPDX-License-Identifier: Apache-2.0
/** The words of VolumeGroupSnapshotContents. */
import { type Messages, quoted } from '../messages.ts';

export const messages: Messages = {
  creating: { reason: 'GroupSnapshotCreationFailed', prefix: 'Failed to create group snapshot: ' },
  checking: {
    reason: 'GroupSnapshotContentCheckandUpdateFailed',
    prefix: 'Failed to check and update group snapshot content: ',
  },
  deleteReason: 'GroupSnapshotDeleteError',
  subject: 'group snapshot',
  resource: 'volumegroupsnapshotcontent',
  notDeleted: (name, cause) => `failed to delete group snapshot ${quoted(name)}, err: ${cause}`,
  classMissing: (className) => `volumegroupsnapshotclass.groupsnapshot.storage.k8s.io ${quoted(className)} not found`,
  noClass: (name) => `failed to take group snapshot ${name} without a group snapshot class`,
  noInput: (name, cause) =>
    `failed to get input parameters to create group snapshot for group snapshot content ${name}: ${quoted(cause)}`,
  notMarked: (name, cause) =>
    `failed to add VolumeGroupSnapshotBeingCreated annotation on the group snapshot content ${name}: ${quoted(cause)}`,
  notTaken: (volumes, cause) => `failed to take group snapshot of the volumes ${volumes}: ${quoted(cause)}`,
  notUnmarkedAfterFailure: (name, cause) =>
    `failed to remove VolumeGroupSnapshotBeingCreated annotation from the group snapshot content ${name}: ${cause}`,
  notUnmarked: (name, cause) =>
    `failed to remove VolumeGroupSnapshotBeingCreated annotation on the groupSnapshotContent ${name}: ${quoted(cause)}`,
  notSaved: (name, cause) => `error updating status for volume group snapshot content ${name}: ${cause}`,
  noQueryClass: (className, name) =>
    `failed to get group snapshot class ${className} for group snapshot content ${name}: ${messages.classMissing(className)}`,
  noQueryReference: (name, cause) => `failed to get secret reference for group snapshot content ${name}: ${cause}`,
  noQuerySecret: (name, cause) => `failed to get credentials for group snapshot content ${name}: ${cause}`,
  notQueried: (name, cause) => `failed to list group snapshot for group snapshot content ${name}: ${quoted(cause)}`,
  noVolume: (name) =>
    `cannot create group snapshot. PVCs to be snapshotted not found in group snapshot content ${name}`,
  notBound: (name) => `cannot create group snapshot. Group snapshot content ${name} not bound to a group snapshot`,
};

export const noMembersToDelete = (name: string): string =>
  `cannot delete group snapshot content ${name}. No snapshots found in the group snapshot`;
export const noMembersToQuery = (name: string): string =>
  `cannot list group snapshot ${name}. No snapshots found in the group snapshot content`;
