// SPDX-License-Identifier: Apache-2.0
/** Names that snapshot-controller, csi-snapshotter, csi-provisioner and administrators share. All of them are a public contract. */
import { createHash } from 'node:crypto';

export const snapshotFinalizers = {
  /** On a VolumeSnapshotContent. snapshot-controller adds it, csi-snapshotter removes it. */
  content: 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection',
  /** On a VolumeSnapshot that is bound to a content that will be deleted with it. */
  bound: 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection',
  /** On every VolumeSnapshot. */
  asSource: 'snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection',
  /** On a VolumeSnapshot that is a member of a group. */
  inGroup: 'snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection',
  /** On a VolumeSnapshot from before CreateVolume until no pending claim needs it. csi-provisioner adds and removes it. */
  restored: 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection',
  /** On the PersistentVolumeClaim of which a snapshot is taken. */
  claim: 'snapshot.storage.kubernetes.io/pvc-as-source-protection',
  /** On a VolumeGroupSnapshotContent. snapshot-controller adds it, csi-snapshotter removes it. */
  groupContent: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection',
  /** On a VolumeGroupSnapshot. */
  groupBound: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection',
} as const;

/** Only the presence of the `being-...` annotations counts; their value is `yes`. */
export const snapshotAnnotations = {
  beingCreated: 'snapshot.storage.kubernetes.io/volumesnapshot-being-created',
  beingDeleted: 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted',
  groupBeingCreated: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created',
  groupBeingDeleted: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted',
  deletionSecretName: 'snapshot.storage.kubernetes.io/deletion-secret-name',
  deletionSecretNamespace: 'snapshot.storage.kubernetes.io/deletion-secret-namespace',
  groupDeletionSecretName: 'groupsnapshot.storage.kubernetes.io/deletion-secret-name',
  groupDeletionSecretNamespace: 'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace',
  /** On a content: a volume of another mode may be made from it, if it is true. */
  allowModeChange: 'snapshot.storage.kubernetes.io/allow-volume-mode-change',
  /** `true`, exactly. */
  isDefaultClass: 'snapshot.storage.kubernetes.io/is-default-class',
  isDefaultGroupClass: 'groupsnapshot.storage.kubernetes.io/is-default-class',
  /** On the content of a group's member: the handle of the group. The group's name ends in `k8s.io` here. */
  groupHandle: 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle',
} as const;

/** Value of the `being-created` and `being-deleted` annotations. */
export const annotationYes = 'yes';

/** Label of a content: the node whose csi-snapshotter is responsible. */
export const managedByLabel = 'snapshot.storage.kubernetes.io/managed-by';

/** Keys of class parameters that begin with it are never handed to a driver. */
export const reservedParameterPrefix = 'csi.storage.k8s.io/';

/** The secrets that a VolumeSnapshotClass or VolumeGroupSnapshotClass may configure. */
export const snapshotSecrets: Readonly<Record<'snapshotter' | 'list' | 'group' | 'groupGet', SecretKeys>> = {
  snapshotter: secretKeys('Snapshotter', 'snapshotter'),
  list: secretKeys('SnapshotterList', 'snapshotter-list'),
  group: secretKeys('GroupSnapshotter', 'group-snapshotter'),
  groupGet: secretKeys('GroupSnapshotterGet', 'group-snapshotter-get'),
};

export interface SecretKeys {
  /** The word of upstream's messages. */
  readonly label: string;
  readonly name: string;
  readonly namespace: string;
}

function secretKeys(label: string, key: string): SecretKeys {
  return {
    label,
    name: `${reservedParameterPrefix}${key}-secret-name`,
    namespace: `${reservedParameterPrefix}${key}-secret-namespace`,
  };
}

/** The content that snapshot-controller makes for a dynamic VolumeSnapshot. */
export function contentNameOf(snapshotUid: string): string {
  return `snapcontent-${snapshotUid}`;
}

/** The content that snapshot-controller makes for a dynamic VolumeGroupSnapshot. */
export function groupContentNameOf(groupSnapshotUid: string): string {
  return `groupsnapcontent-${groupSnapshotUid}`;
}

export interface MemberNames {
  readonly snapshot: string;
  readonly content: string;
}

/** A member of a dynamic group, named after the group and the volume, so that a repeat finds what an earlier attempt made. */
export function memberNamesOf(groupSnapshotUid: string, volumeHandle: string): MemberNames {
  const digest = createHash('sha256').update(`${groupSnapshotUid}${volumeHandle}`).digest('hex');
  return { snapshot: `snapshot-${digest}`, content: `snapcontent-${digest}` };
}
