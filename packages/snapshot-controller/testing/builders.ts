// SPDX-License-Identifier: Apache-2.0
/** Objects and facts for tests: complete and valid by default, so that a test names only what it is about. */
import type { KubeObject, Node, ObjectMeta, PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import {
  contentNameOf,
  groupContentNameOf,
  snapshotAnnotations,
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { SnapshotControllerSettings } from '../src/settings.ts';

export const driverName = 'd.example.com';

export function someSettings(settings: Partial<SnapshotControllerSettings> = {}): SnapshotControllerSettings {
  return {
    workerThreads: 10,
    retryIntervalStartMs: 1_000,
    retryIntervalMaxMs: 300_000,
    resyncMs: 900_000,
    distributed: false,
    recordVolumeMode: true,
    groups: true,
    ...settings,
  };
}

type Spec<T extends { readonly spec?: object }> = Partial<NonNullable<T['spec']>>;

export interface Overrides<T extends KubeObject & { readonly spec?: object; readonly status?: object }> {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: Spec<T>;
  readonly status?: T['status'];
  readonly deleting?: 'yes';
}

function metadataOf(
  {
    name,
    namespace,
    uid,
    metadata,
    deleting,
  }: Pick<Overrides<never>, 'name' | 'namespace' | 'uid' | 'metadata' | 'deleting'>,
  defaults: { readonly name: string; readonly namespace?: string },
): ObjectMeta {
  const called = name ?? defaults.name;
  const at = namespace ?? defaults.namespace;
  return {
    name: called,
    uid: uid ?? `uid-of-${called}`,
    ...(at === undefined ? {} : { namespace: at }),
    ...(deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['test.io/held'] } : {}),
    ...metadata,
  };
}

/** A snapshot of the claim `data`, with the class `gold`. */
export function aSnapshot(options: Overrides<VolumeSnapshot> = {}): VolumeSnapshot {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: metadataOf(options, { name: 'snap', namespace: 'team' }),
    spec: { source: { persistentVolumeClaimName: 'data' }, volumeSnapshotClassName: 'gold', ...options.spec },
    ...(options.status === undefined ? {} : { status: options.status }),
  };
}

/** Made by an administrator: names the content `content`, and no class. */
export function aStaticSnapshot(options: Overrides<VolumeSnapshot> = {}): VolumeSnapshot {
  const snapshot = withoutClass(aSnapshot({ ...options, spec: {} }));
  return { ...snapshot, spec: { source: { volumeSnapshotContentName: 'content' }, ...options.spec } };
}

export function withoutClass(snapshot: VolumeSnapshot): VolumeSnapshot {
  const { volumeSnapshotClassName: _, ...spec } = snapshot.spec ?? {};
  return { ...snapshot, spec };
}

export interface ContentOverrides extends Overrides<VolumeSnapshotContent> {
  readonly of?: VolumeSnapshot;
}

/** The content that the controller makes for `aSnapshot()`. */
export function aContent({ of = aSnapshot(), ...options }: ContentOverrides = {}): VolumeSnapshotContent {
  const { name = '', namespace = '', uid = '' } = of.metadata ?? {};
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: metadataOf(
      { ...options, metadata: { finalizers: [snapshotFinalizers.content], ...options.metadata } },
      { name: contentNameOf(uid) },
    ),
    spec: {
      deletionPolicy: 'Delete',
      driver: driverName,
      source: { volumeHandle: 'handle-1' },
      volumeSnapshotClassName: 'gold',
      volumeSnapshotRef: { kind: 'VolumeSnapshot', name, namespace, uid },
      ...options.spec,
    },
    ...(options.status === undefined ? {} : { status: options.status }),
  };
}

/** As an administrator makes it for `aStaticSnapshot()`: without UID, class and finalizer. */
export function aStaticContent(options: Overrides<VolumeSnapshotContent> = {}): VolumeSnapshotContent {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: metadataOf(options, { name: 'content' }),
    spec: {
      deletionPolicy: 'Delete',
      driver: driverName,
      source: { snapshotHandle: 'snapshot-handle-1' },
      volumeSnapshotRef: { name: 'snap', namespace: 'team' },
      ...options.spec,
    },
    ...(options.status === undefined ? {} : { status: options.status }),
  };
}

const fieldsOfClass = (name: string): Omit<VolumeSnapshotClass, 'apiVersion' | 'kind'> => ({
  metadata: { name, uid: `uid-of-${name}` },
  driver: driverName,
  deletionPolicy: 'Delete',
});

export function aClass(name = 'gold', more: Partial<VolumeSnapshotClass> = {}): VolumeSnapshotClass {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    ...fieldsOfClass(name),
    ...more,
  };
}

export function aDefaultClass(
  name = 'gold',
  more: Partial<VolumeSnapshotClass> = {},
  mark = 'true',
): VolumeSnapshotClass {
  const annotations = { [snapshotAnnotations.isDefaultClass]: mark };
  return aClass(name, { metadata: { name, uid: `uid-of-${name}`, annotations }, ...more });
}

/** Bound to `pv1`. */
export function aClaim(
  options: Overrides<PersistentVolumeClaim> & { readonly phase?: string } = {},
): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: metadataOf(options, { name: 'data', namespace: 'team' }),
    spec: {
      accessModes: ['ReadWriteOnce'],
      volumeName: 'pv1',
      resources: { requests: { storage: '1Gi' } },
      ...options.spec,
    },
    status: { phase: options.phase ?? 'Bound', ...options.status },
  };
}

/** Has our finalizer, for an earlier snapshot. */
export function aProtectedClaim(options: Parameters<typeof aClaim>[0] = {}): PersistentVolumeClaim {
  return aClaim({ ...options, metadata: { finalizers: [snapshotFinalizers.claim], ...options.metadata } });
}

/** `handle-1`, bound to the claim that `aClaim()` makes. */
export function aVolume(
  options: Overrides<PersistentVolume> & { readonly claim?: PersistentVolumeClaim; readonly handle?: string } = {},
): PersistentVolume {
  const { namespace = '', name = '', uid = '' } = (options.claim ?? aClaim()).metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: metadataOf(options, { name: 'pv1' }),
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: { namespace, name, uid },
      csi: { driver: driverName, volumeHandle: options.handle ?? 'handle-1' },
      volumeMode: 'Filesystem',
      ...options.spec,
    },
    status: { phase: 'Bound' },
  };
}

/** A change of some fields in the spec of a PersistentVolume. */
export const withSpec =
  (spec: Spec<PersistentVolume>) =>
  (volume: PersistentVolume): PersistentVolume => ({ ...volume, spec: { ...volume.spec, ...spec } });

export function aNode(name: string, labels: Readonly<Record<string, string>> = {}): Node {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: `uid-of-${name}`, labels } };
}

/** Selects the claims with the label `app: db`, with the class `group-gold`. */
export function aGroup(options: Overrides<VolumeGroupSnapshot> = {}): VolumeGroupSnapshot {
  return {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshot',
    metadata: metadataOf(options, { name: 'group', namespace: 'team' }),
    spec: {
      source: { selector: { matchLabels: { app: 'db' } } },
      volumeGroupSnapshotClassName: 'group-gold',
      ...options.spec,
    },
    ...(options.status === undefined ? {} : { status: options.status }),
  };
}

/** The content that the controller makes for `aGroup()` with the volumes `handle-1` and `handle-2`. */
export function aGroupContent(
  options: Overrides<VolumeGroupSnapshotContent> & { readonly of?: VolumeGroupSnapshot } = {},
): VolumeGroupSnapshotContent {
  const { name = '', namespace = '', uid = '' } = (options.of ?? aGroup()).metadata ?? {};
  return {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotContent',
    metadata: metadataOf(
      { ...options, metadata: { finalizers: [snapshotFinalizers.groupContent], ...options.metadata } },
      { name: groupContentNameOf(uid) },
    ),
    spec: {
      deletionPolicy: 'Delete',
      driver: driverName,
      source: { volumeHandles: ['handle-1', 'handle-2'] },
      volumeGroupSnapshotClassName: 'group-gold',
      volumeGroupSnapshotRef: { kind: 'VolumeGroupSnapshot', name, namespace, uid },
      ...options.spec,
    },
    ...(options.status === undefined ? {} : { status: options.status }),
  };
}

/** Made by an administrator: names the content `content`. */
export function aStaticGroup(options: Overrides<VolumeGroupSnapshot> = {}): VolumeGroupSnapshot {
  return aGroup({ ...options, spec: { source: { volumeGroupSnapshotContentName: 'content' }, ...options.spec } });
}

/** As an administrator makes it for `aStaticGroup()`: without UID, class and finalizer. */
export function aStaticGroupContent(options: Overrides<VolumeGroupSnapshotContent> = {}): VolumeGroupSnapshotContent {
  const content = aGroupContent({ name: 'content', metadata: { finalizers: [] }, ...options });
  return {
    ...content,
    spec: {
      deletionPolicy: 'Delete',
      driver: driverName,
      source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'g1', volumeSnapshotHandles: ['s1'] } },
      volumeGroupSnapshotRef: { kind: 'VolumeGroupSnapshot', name: 'group', namespace: 'team' },
      ...options.spec,
    },
  };
}

export function aDefaultGroupClass(name: string): VolumeGroupSnapshotClass {
  const annotations = { [snapshotAnnotations.isDefaultGroupClass]: 'true' };
  return aGroupClass(name, { metadata: { name, uid: `uid-of-${name}`, annotations } });
}

export function aGroupClass(
  name = 'group-gold',
  more: Partial<VolumeGroupSnapshotClass> = {},
): VolumeGroupSnapshotClass {
  return {
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotClass',
    ...fieldsOfClass(name),
    ...more,
  };
}
