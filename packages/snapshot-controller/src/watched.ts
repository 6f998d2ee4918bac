// SPDX-License-Identifier: Apache-2.0
/**
 * What the controller watches, and how little of it is kept.
 *
 * | kind | kept | as |
 * |---|---|---|
 * | VolumeSnapshot, VolumeSnapshotContent, and those of groups | all | whole |
 * | classes | all | driver, deletion policy, parameters, the mark of a default class |
 * | PersistentVolumeClaim | all | whole: its finalizers are written by PUT |
 * | PersistentVolume | all | driver, handle, claim reference, volume mode; node affinity with distributed snapshotting |
 * | Node (only with distributed snapshotting) | all | labels |
 *
 * Which claims a group selects is asked of the API server when the group is taken: the cache may be behind.
 */
import {
  definedOnly,
  identityOf,
  type InformerOptions,
  type Node,
  nodes,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  volumeGroupSnapshotClasses,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  volumeSnapshotClasses,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { groupNameOf, groupOwnerOf } from './membership.ts';
import type { SnapshotControllerSettings } from './settings.ts';
import { isReady, sourceClaimKey } from './snapshot/snapshot.ts';

type WatchedSettings = Pick<SnapshotControllerSettings, 'resyncMs' | 'distributed' | 'groups'>;

export interface Watched {
  /**
   * Indexes: `claim`, the claim of which a snapshot is taken; `member`, by the group that owns it; `group`, by the group that it
   * names in any way; `class`, what is not ready by the class that it names or, empty, needs.
   */
  readonly snapshots: InformerOptions<VolumeSnapshot>;
  /** Index `group`: by driver and handle of the group snapshot that it is a part of. */
  readonly contents: InformerOptions<VolumeSnapshotContent>;
  readonly classes: InformerOptions<VolumeSnapshotClass>;
  /** Index `restores`: by the snapshot that it is filled from. */
  readonly claims: InformerOptions<PersistentVolumeClaim>;
  /** Index `handle`: by driver and volume handle. */
  readonly volumes: InformerOptions<PersistentVolume>;
  readonly nodes: InformerOptions<Node> | undefined;
  /** Indexes: `class`, as for snapshots; `waiting`, what has no content yet, by namespace. */
  readonly groups: InformerOptions<VolumeGroupSnapshot> | undefined;
  /** Index `handle`: by driver and handle of the group snapshot. */
  readonly groupContents: InformerOptions<VolumeGroupSnapshotContent> | undefined;
  readonly groupClasses: InformerOptions<VolumeGroupSnapshotClass> | undefined;
}

export function watchedBy({ resyncMs, distributed, groups }: WatchedSettings): Watched {
  return {
    snapshots: watchedSnapshots(resyncMs),
    contents: watchedContents(resyncMs),
    classes: { resource: volumeSnapshotClasses, transform: { id: 'snapshot classes', apply: trimClass } },
    claims: watchedClaims(),
    volumes: watchedVolumes({ distributed, groups }),
    nodes: distributed ? watchedNodes() : undefined,
    groups: groups ? watchedGroups(resyncMs) : undefined,
    groupContents: groups ? watchedGroupContents(resyncMs) : undefined,
    groupClasses: groups
      ? { resource: volumeGroupSnapshotClasses, transform: { id: 'group snapshot classes', apply: trimClass } }
      : undefined,
  };
}

/** A value of the indexes `handle` and `group`: handles are unique for a driver only. */
export function handleKey(driver: string | undefined, handle: string): string {
  return `${driver ?? ''}^${handle}`;
}

function watchedSnapshots(resyncMs: number): InformerOptions<VolumeSnapshot> {
  return {
    resource: volumeSnapshots,
    resyncMs,
    indexers: {
      claim: (snapshot) => listOf(sourceClaimKey(snapshot)),
      member: (snapshot) => {
        const owner = groupOwnerOf(snapshot);
        return owner === undefined ? [] : [toObjectKey(snapshot.metadata?.namespace, owner.name)];
      },
      group: (snapshot) => {
        const name = groupNameOf(snapshot);
        return name === '' ? [] : [toObjectKey(snapshot.metadata?.namespace, name)];
      },
      class: (snapshot) => (isReady(snapshot) ? [] : [snapshot.spec?.volumeSnapshotClassName ?? '']),
    },
  };
}

function groupHandleOf({ spec, status }: VolumeSnapshotContent | VolumeGroupSnapshotContent): readonly string[] {
  const handle = status?.volumeGroupSnapshotHandle ?? '';
  return handle === '' ? [] : [handleKey(spec?.driver, handle)];
}

function watchedContents(resyncMs: number): InformerOptions<VolumeSnapshotContent> {
  return {
    resource: volumeSnapshotContents,
    resyncMs,
    indexers: {
      group: groupHandleOf,
    },
  };
}

function watchedGroups(resyncMs: number): InformerOptions<VolumeGroupSnapshot> {
  return {
    resource: volumeGroupSnapshots,
    resyncMs,
    indexers: {
      class: ({ spec, status }) => (status?.readyToUse === true ? [] : [spec?.volumeGroupSnapshotClassName ?? '']),
      waiting: ({ metadata, spec, status }) =>
        spec?.source?.selector !== undefined && status?.boundVolumeGroupSnapshotContentName === undefined
          ? [metadata?.namespace ?? '']
          : [],
    },
  };
}

function watchedGroupContents(resyncMs: number): InformerOptions<VolumeGroupSnapshotContent> {
  return {
    resource: volumeGroupSnapshotContents,
    resyncMs,
    indexers: {
      handle: groupHandleOf,
    },
  };
}

function trimClass<C extends VolumeSnapshotClass>({ metadata, driver, deletionPolicy, parameters }: C): C {
  const marks = [snapshotAnnotations.isDefaultClass, snapshotAnnotations.isDefaultGroupClass] as const;
  const kept = marks.flatMap((name) => {
    const value = metadata?.annotations?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    metadata: { ...identityOf(metadata), annotations: Object.fromEntries(kept) },
    ...definedOnly({ driver, deletionPolicy, parameters }),
  } as C;
}

function watchedClaims(): InformerOptions<PersistentVolumeClaim> {
  return {
    resource: persistentVolumeClaims,
    indexers: { restores: (claim) => listOf(restoredSnapshotKey(claim)) },
  };
}

/** The snapshot that a claim is filled from. Only `dataSource` counts, which names objects of the claim's own namespace. */
export function restoredSnapshotKey({ metadata, spec }: PersistentVolumeClaim): ObjectKey | undefined {
  const { apiGroup, kind, name } = spec?.dataSource ?? {};
  return kind === volumeSnapshots.kind && apiGroup === volumeSnapshots.group && name !== undefined
    ? toObjectKey(metadata?.namespace, name)
    : undefined;
}

function watchedVolumes({
  distributed,
  groups,
}: Pick<WatchedSettings, 'distributed' | 'groups'>): InformerOptions<PersistentVolume> {
  const handle = ({ spec }: PersistentVolume): readonly string[] =>
    spec?.csi === undefined ? [] : [handleKey(spec.csi.driver, spec.csi.volumeHandle)];
  return {
    resource: persistentVolumes,
    ...(groups ? { indexers: { handle } } : {}),
    transform: {
      id: distributed ? 'snapshot volumes with nodes' : 'snapshot volumes',
      apply: ({ metadata, spec }) => {
        const { name, namespace, uid } = spec?.claimRef ?? {};
        return {
          metadata: identityOf(metadata),
          spec: definedOnly({
            claimRef: spec?.claimRef && definedOnly({ name, namespace, uid }),
            csi: spec?.csi && { driver: spec.csi.driver, volumeHandle: spec.csi.volumeHandle },
            nodeAffinity: distributed ? spec?.nodeAffinity : undefined,
            volumeMode: spec?.volumeMode,
          }),
        };
      },
    },
  };
}

function watchedNodes(): InformerOptions<Node> {
  return {
    resource: nodes,
    transform: {
      id: 'snapshot nodes',
      apply: ({ metadata }) => ({
        metadata: { ...identityOf(metadata), ...definedOnly({ labels: metadata?.labels }) },
      }),
    },
  };
}

function listOf<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}
