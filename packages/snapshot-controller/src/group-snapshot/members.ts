// SPDX-License-Identifier: Apache-2.0
/**
 * The members of a dynamic group: one VolumeSnapshot and one VolumeSnapshotContent for each snapshot that the driver cut. Pure.
 *
 * The snapshot is made before its content, so that the content has its reference whole from the beginning, and no content is left
 * without a snapshot when the process ends in between. Fields of a status that are set stay as they are.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { definedOnly, ownerReference } from '@csi-sidecars/runtime';
import {
  isBoundTo,
  managedByLabel,
  memberNamesOf,
  snapshotAnnotations,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  type VolumeSnapshotContentStatus,
  type VolumeSnapshotInfo,
} from '@csi-sidecars/volume';

export interface Member {
  /** What the group and the driver say of it. */
  readonly group: VolumeGroupSnapshot;
  readonly groupContent: VolumeGroupSnapshotContent;
  readonly info: VolumeSnapshotInfo;
  /** The one PersistentVolume with the handle. */
  readonly volume: PersistentVolume | undefined;
  /** As the caches show them. */
  readonly snapshot: VolumeSnapshot | undefined;
  readonly content: VolumeSnapshotContent | undefined;
}

/** Undefined: the driver has not cut the group yet. */
export function cutSnapshots({ status }: VolumeGroupSnapshotContent): readonly VolumeSnapshotInfo[] | undefined {
  const list = status?.volumeSnapshotInfoList ?? [];
  return list.length === 0 || (status?.volumeGroupSnapshotHandle ?? '') === '' ? undefined : list;
}

export function namesOf({ group, info }: Pick<Member, 'group' | 'info'>): ReturnType<typeof memberNamesOf> {
  return memberNamesOf(group.metadata?.uid ?? '', info.volumeHandle ?? '');
}

export function isComplete(member: Member): boolean {
  const { snapshot, content } = member;
  return (
    snapshot !== undefined &&
    content !== undefined &&
    isBoundTo(content.spec?.volumeSnapshotRef, snapshot) &&
    snapshot.status?.boundVolumeSnapshotContentName !== undefined &&
    missingContentStatus(member, content) === undefined
  );
}

export function memberSnapshot({ group, groupContent, info, volume }: Member): VolumeSnapshot {
  const namespace = groupContent.spec?.volumeGroupSnapshotRef?.namespace ?? '';
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: {
      name: namesOf({ group, info }).snapshot,
      namespace,
      ownerReferences: [ownerReference(volumeGroupSnapshots, group)],
      finalizers: [snapshotFinalizers.inGroup, snapshotFinalizers.asSource],
    },
    spec: { source: { persistentVolumeClaimName: claimNameOf(volume, namespace) } },
  };
}

/** Empty: none. A driver may answer with a volume of another namespace, and a claim of that name would be another one here. */
function claimNameOf(volume: PersistentVolume | undefined, namespace: string): string {
  const { name = '', namespace: home = namespace } = volume?.spec?.claimRef ?? {};
  return home === namespace ? name : '';
}

/** The secret is that of the group's content: the class may be gone, and says no more than was true when the group was taken. */
export function memberContent(
  { group, groupContent, info, volume }: Member,
  snapshot: VolumeSnapshot,
): VolumeSnapshotContent {
  const { annotations = {}, labels } = groupContent.metadata ?? {};
  // The csi-snapshotter that cut the group is the one that can reach its members.
  const node = labels?.[managedByLabel];
  const { driver, deletionPolicy } = groupContent.spec ?? {};
  const sourceVolumeMode = volume?.spec?.volumeMode;
  const { name = '', namespace = '', uid = '' } = snapshot.metadata ?? {};
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: {
      name: namesOf({ group, info }).content,
      finalizers: [snapshotFinalizers.content],
      ...(node === undefined ? {} : { labels: { [managedByLabel]: node } }),
      annotations: definedStrings({
        [snapshotAnnotations.groupHandle]: groupContent.status?.volumeGroupSnapshotHandle,
        [snapshotAnnotations.deletionSecretName]: annotations[snapshotAnnotations.groupDeletionSecretName],
        [snapshotAnnotations.deletionSecretNamespace]: annotations[snapshotAnnotations.groupDeletionSecretNamespace],
      }),
    },
    spec: {
      volumeSnapshotRef: { kind: 'VolumeSnapshot', name, namespace, uid },
      ...definedOnly({ deletionPolicy, driver, sourceVolumeMode }),
      source: { volumeHandle: info.volumeHandle ?? '' },
    },
  };
}

function definedStrings(found: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(found).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  );
}

/** What is known of the snapshot and does not stand in the status of its content. Undefined: all of it stands there. */
export function missingContentStatus(
  { groupContent, info }: Pick<Member, 'groupContent' | 'info'>,
  { status }: VolumeSnapshotContent,
): VolumeSnapshotContentStatus | undefined {
  const size = info.restoreSize;
  const known: VolumeSnapshotContentStatus = definedOnly({
    snapshotHandle: info.snapshotHandle,
    volumeGroupSnapshotHandle: groupContent.status?.volumeGroupSnapshotHandle,
    creationTime: info.creationTime,
    // The definition of contents refuses a negative size, that of group contents does not.
    restoreSize: size === undefined || size >= 0 ? size : undefined,
    readyToUse: info.readyToUse,
  });
  const missing = Object.entries(known).filter(([field]) => status?.[field as keyof typeof known] === undefined);
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}
