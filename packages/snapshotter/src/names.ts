// SPDX-License-Identifier: Apache-2.0
/** Names that stand in API objects and requests, spelled as upstream spells them. Those of both snapshot programs are in `volume`. */
export function lockNameOf(driverName: string): string {
  return `external-snapshotter-leader-${driverName}`;
}

/** Value of the label `...-being-created` that an administrator sets: the content goes, whatever the driver has. */
export const withdrawn = 'withdrawn';

/** Sent with `--extra-create-metadata`. */
export const metadataKeys = {
  snapshotName: 'csi.storage.k8s.io/volumesnapshot/name',
  snapshotNamespace: 'csi.storage.k8s.io/volumesnapshot/namespace',
  contentName: 'csi.storage.k8s.io/volumesnapshotcontent/name',
  groupSnapshotName: 'csi.storage.k8s.io/volumegroupsnapshot/name',
  groupSnapshotNamespace: 'csi.storage.k8s.io/volumegroupsnapshot/namespace',
  groupContentName: 'csi.storage.k8s.io/volumegroupsnapshotcontent/name',
} as const;

/** How snapshots are called on the storage system. */
export interface SnapshotNames {
  readonly prefix: string;
  /** How many characters of the UID without dashes; -1: the whole UID. */
  readonly uuidLength: number;
}

/** The key of the request: the same for every attempt, because the driver recognizes a repeated request by it. */
export function snapshotNameOf({ prefix, uuidLength }: SnapshotNames, uid: string): string {
  const id = uuidLength === -1 ? uid : uid.replaceAll('-', '').slice(0, uuidLength);
  return `${prefix}-${id}`;
}
