// SPDX-License-Identifier: Apache-2.0
/** The words of VolumeSnapshotContents. */
import { type Messages, quoted } from '../messages.ts';

interface OwnMessages extends Messages {
  /** The secret of a member of a group could not be read. */
  readonly noMemberSecret: (name: string, cause: string) => string;
  readonly unreadableTopologies: (className: string, cause: string) => string;
  readonly placesNotSaved: (name: string, cause: string) => string;
}

export const messages: OwnMessages = {
  creating: { reason: 'SnapshotCreationFailed', prefix: 'Failed to create snapshot: ' },
  checking: {
    reason: 'SnapshotContentCheckandUpdateFailed',
    prefix: 'Failed to check and update snapshot content: ',
  },
  deleteReason: 'SnapshotDeleteError',
  subject: 'snapshot',
  resource: 'volumesnapshotcontent',
  notDeleted: (name, cause) => `failed to delete snapshot content ${name}: ${quoted(cause)}`,
  classMissing: (className) => `volumesnapshotclass.snapshot.storage.k8s.io ${quoted(className)} not found`,
  noClass: (name) => `failed to take snapshot ${name} without a snapshot class`,
  noInput: (name, cause) => `failed to get input parameters to create snapshot for content ${name}: ${quoted(cause)}`,
  notMarked: (name, cause) =>
    `failed to add VolumeSnapshotBeingCreated annotation on the content ${name}: ${quoted(cause)}`,
  notTaken: (volume, cause) => `failed to take snapshot of the volume ${volume}: ${quoted(cause)}`,
  notUnmarkedAfterFailure: (name, cause) =>
    `failed to remove VolumeSnapshotBeingCreated annotation from the content ${name}: ${cause}`,
  notUnmarked: (name, cause) =>
    `failed to remove VolumeSnapshotBeingCreated annotation on the content ${name}: ${quoted(cause)}`,
  notSaved: (name, cause) => `error updating status for volume snapshot content ${name}: ${cause}`,
  noQueryClass: (className, name) =>
    `failed to get snapshot class ${className} for snapshot content ${name}: ${messages.classMissing(className)}`,
  noQueryReference: (name, cause) => `failed to get secret reference for snapshot content ${name}: ${cause}`,
  noQuerySecret: (name, cause) => `failed to get credentials for snapshot content ${name}: ${cause}`,
  noMemberSecret: (name, cause) => `failed to get credentials from annotation for snapshot content ${name}: ${cause}`,
  notQueried: (name, cause) => `failed to list snapshot for content ${name}: ${quoted(cause)}`,
  noVolume: (name) => `cannot create snapshot. Volume handle not found in snapshot content ${name}`,
  notBound: (name) => `cannot create snapshot. Snapshot content ${name} not bound to a snapshot`,
  unreadableTopologies: (className, cause) =>
    `allowedTopologies of snapshot class ${className} cannot be used: ${cause}`,
  placesNotSaved: (name, cause) => `error updating nodeAffinity of volume snapshot content ${name}: ${cause}`,
};
