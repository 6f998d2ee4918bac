// SPDX-License-Identifier: Apache-2.0
/** Objects and facts for tests: complete and valid by default, so that a test names only what it is about. */
import { type Code, CsiError, type DriverInfo } from '@csi-sidecars/csi';
import { driverName } from '@csi-sidecars/csi/testing';
import type { ObjectMeta, Secret } from '@csi-sidecars/runtime';
import {
  snapshotAnnotations,
  snapshotFinalizers,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { SnapshotterSettings } from '../src/settings.ts';

export { driverName };

export const snapshotUid = '11111111-2222-3333-4444-555555555555';

export function someSettings(settings: Partial<SnapshotterSettings> = {}): SnapshotterSettings {
  return {
    workerThreads: 10,
    retryIntervalStartMs: 1_000,
    retryIntervalMaxMs: 300_000,
    resyncMs: 900_000,
    auditIntervalMs: 0,
    timeoutMs: 60_000,
    extraCreateMetadata: false,
    snapshotNames: { prefix: 'snapshot', uuidLength: -1 },
    groupSnapshotNames: { prefix: 'groupsnapshot', uuidLength: -1 },
    nodeName: undefined,
    groupSnapshots: true,
    snapshotTopology: false,
    ...settings,
  };
}

export interface DriverOptions {
  readonly name?: string;
  /** Default: LIST_SNAPSHOTS. */
  readonly controller?: readonly string[];
}

export function aDriver({ name = driverName, controller = ['LIST_SNAPSHOTS'] }: DriverOptions = {}): DriverInfo {
  return {
    name,
    pluginCapabilities: new Set(),
    controllerCapabilities: new Set(['CREATE_DELETE_SNAPSHOT', ...controller]),
  };
}

interface ContentOptions {
  readonly name?: string;
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  /** `direct`: by a user, without snapshot-controller. `asked`: snapshot-controller agrees. */
  readonly deleting?: 'direct' | 'asked';
  readonly policy?: 'Delete' | 'Retain';
  readonly driver?: string;
  /** Null: it names none. */
  readonly className?: string | null;
  /** The UID of the snapshot; empty, or null for none: the content is not bound. */
  readonly refUid?: string | null;
}

export interface SnapshotContentOptions extends ContentOptions {
  /** Null: it names none. */
  readonly volume?: string | null;
  /** The handle of a pre-provisioned snapshot. */
  readonly handle?: string;
  readonly status?: VolumeSnapshotContent['status'];
}

function metadataOf(
  { annotations, labels, deleting, uid, ...options }: ContentOptions & { readonly name: string },
  { finalizer, beingDeleted }: { readonly finalizer: string; readonly beingDeleted: string },
): ObjectMeta {
  const all = { ...annotations, ...(deleting === 'asked' ? { [beingDeleted]: 'yes' } : {}) };
  return {
    name: options.name,
    uid: uid ?? `uid-of-${options.name}`,
    finalizers: options.finalizers ?? [finalizer],
    ...(Object.keys(all).length === 0 ? {} : { annotations: all }),
    ...(labels === undefined ? {} : { labels }),
    ...(deleting === undefined ? {} : { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  };
}

function uidOf({ refUid = snapshotUid }: ContentOptions): { readonly uid?: string } {
  return refUid === null ? {} : { uid: refUid };
}

/** Dynamic, of `volume-1` of the driver's model, with the class `gold`, never worked on. */
export function aContent(options: SnapshotContentOptions = {}): VolumeSnapshotContent {
  const { name = 'content', volume = 'volume-1', handle, status, className = 'gold' } = options;
  const names = { finalizer: snapshotFinalizers.content, beingDeleted: snapshotAnnotations.beingDeleted };
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: metadataOf({ ...options, name }, names),
    spec: {
      deletionPolicy: options.policy ?? 'Delete',
      driver: options.driver ?? driverName,
      source: handle === undefined ? (volume === null ? {} : { volumeHandle: volume }) : { snapshotHandle: handle },
      ...(className === null ? {} : { volumeSnapshotClassName: className }),
      volumeSnapshotRef: { name: 'snap', namespace: 'team', ...uidOf(options) },
    },
    ...(status === undefined ? {} : { status }),
  };
}

export interface GroupContentOptions extends ContentOptions {
  readonly volumes?: readonly string[];
  /** The handles of a pre-provisioned group. */
  readonly handles?: { readonly volumeGroupSnapshotHandle: string; readonly volumeSnapshotHandles: readonly string[] };
  readonly status?: VolumeGroupSnapshotContent['status'];
}

/** Dynamic, of `volume-1` and `volume-2` of the driver's model, with the class `gold`, never worked on. */
export function aGroupContent(options: GroupContentOptions = {}): VolumeGroupSnapshotContent {
  const { name = 'group', volumes = ['volume-1', 'volume-2'], handles, status, className = 'gold' } = options;
  const names = { finalizer: snapshotFinalizers.groupContent, beingDeleted: snapshotAnnotations.groupBeingDeleted };
  return {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotContent',
    metadata: metadataOf({ ...options, name }, names),
    spec: {
      deletionPolicy: options.policy ?? 'Delete',
      driver: options.driver ?? driverName,
      source: handles === undefined ? { volumeHandles: volumes } : { groupSnapshotHandles: handles },
      ...(className === null ? {} : { volumeGroupSnapshotClassName: className }),
      volumeGroupSnapshotRef: { name: 'groupsnap', namespace: 'team', ...uidOf(options) },
    },
    ...(status === undefined ? {} : { status }),
  };
}

export function aClass(more: Partial<VolumeSnapshotClass> = {}): VolumeSnapshotClass {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: 'gold', uid: 'uid-of-gold' },
    driver: driverName,
    deletionPolicy: 'Delete',
    ...more,
  };
}

export function aGroupClass(more: Partial<VolumeGroupSnapshotClass> = {}): VolumeGroupSnapshotClass {
  return {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotClass',
    metadata: { name: 'gold', uid: 'uid-of-group-gold' },
    driver: driverName,
    deletionPolicy: 'Delete',
    ...more,
  };
}

export function aSecret(name = 'key', data: Readonly<Record<string, string>> = { user: 'me' }): Secret {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'vault' },
    data: Object.fromEntries(encoded) as Readonly<Record<string, string>>,
  };
}

export const beingCreated: Readonly<Record<string, string>> = { [snapshotAnnotations.beingCreated]: 'yes' };
export const groupBeingCreated: Readonly<Record<string, string>> = { [snapshotAnnotations.groupBeingCreated]: 'yes' };
/** The intent of an earlier run. */
export const intent: Pick<Required<ContentOptions>, 'annotations' | 'labels'> = {
  annotations: beingCreated,
  labels: beingCreated,
};
export const groupIntent: typeof intent = { annotations: groupBeingCreated, labels: groupBeingCreated };
/** snapshot-controller resolved the secret of the class: `vault/key`. */
export const deletionSecret: Readonly<Record<string, string>> = {
  [snapshotAnnotations.deletionSecretName]: 'key',
  [snapshotAnnotations.deletionSecretNamespace]: 'vault',
};
export const groupDeletionSecret: Readonly<Record<string, string>> = {
  [snapshotAnnotations.groupDeletionSecretName]: 'key',
  [snapshotAnnotations.groupDeletionSecretNamespace]: 'vault',
};
/** Annotations of the content of a group's member. */
export const memberOf: Readonly<Record<string, string>> = { [snapshotAnnotations.groupHandle]: 'group-1' };

/** The codes of answers after which the driver does nothing more. */
export const finalCodes = [
  'Unknown',
  'InvalidArgument',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'FailedPrecondition',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'DataLoss',
  'Unauthenticated',
] as const;

export function csiFailure(
  code: Exclude<Code, 'OK'>,
  detail = 'no',
  { isUnreadable = false }: { readonly isUnreadable?: boolean } = {},
): CsiError {
  return new CsiError({ code, detail, isUnreadable, method: '/csi.v1.Controller/CreateSnapshot' });
}

/** A user deletes it, and snapshot-controller agrees. For contents of both kinds. */
export function asked<C extends VolumeSnapshotContent | VolumeGroupSnapshotContent>(content: C): C {
  const { beingDeleted, groupBeingDeleted } = snapshotAnnotations;
  const name = content.kind === 'VolumeSnapshotContent' ? beingDeleted : groupBeingDeleted;
  const annotations = { ...content.metadata?.annotations, [name]: 'yes' };
  return { ...content, metadata: { ...content.metadata, annotations, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}
