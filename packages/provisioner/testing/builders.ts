// SPDX-License-Identifier: Apache-2.0
/** Builders for tests: complete and valid by default, so that a test names only the fields that it is about. */
import { aDriver, driverName } from '@csi-sidecars/csi/testing';
import type {
  CSINode,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  StorageClass,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/volume';
import { annotations, provisioningFinalizer, volumeFinalizer } from '../src/names.ts';
import type { ReferenceGrant } from '../src/source/grants.ts';
import type { NodeDeployment, ProvisionerSettings } from '../src/settings.ts';

export { aDriver, driverName };

export function someSettings(settings: Partial<ProvisionerSettings> = {}): ProvisionerSettings {
  return {
    node: undefined,
    volumeNamePrefix: 'pvc',
    volumeNameUuidLength: undefined,
    workerThreads: 100,
    retryIntervalStartMs: 1000,
    retryIntervalMaxMs: 300_000,
    timeoutMs: 10_000,
    strictTopology: false,
    immediateTopology: true,
    extraCreateMetadata: false,
    controllerPublishReadonly: false,
    preventsModeConversion: true,
    defaultFsType: '',
    provisioningProtection: 'ambiguous',
    cloningProtectionThreads: 1,
    snapshotSweepIntervalMs: 300_000,
    auditIntervalMs: 0,
    identity: '1700000000000-1234-test.csi.example.com',
    features: {
      topology: true,
      volumeAttributesClass: true,
      crossNamespaceVolumeDataSource: false,
      snapshotSweep: false,
      snapshotTopology: false,
    },
    ...settings,
  };
}

/** The instance of a node, in node deployment. It waits for one second at most. */
export function aNodeDeployment(name: string, change: Partial<NodeDeployment> = {}): NodeDeployment {
  return {
    name,
    id: `id-of-${name}`,
    segments: { node: name },
    bindsImmediately: true,
    baseDelayMs: 1000,
    maxDelayMs: 4000,
    patienceMs: 300_000,
    ...change,
  };
}

type ClaimSpec = NonNullable<PersistentVolumeClaim['spec']>;
export interface ClaimFacts {
  readonly name?: string;
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly protection?: 'on';
  readonly deleting?: 'yes';
  readonly node?: string;
  readonly spec?: Partial<ClaimSpec>;
}

export function aClaim(facts: ClaimFacts = {}): PersistentVolumeClaim {
  const { name = 'data' } = facts;
  const finalizers = [
    ...(facts.finalizers ?? []),
    ...(facts.protection === 'on' ? [provisioningFinalizer(driverName)] : []),
  ];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: 'team',
      uid: facts.uid ?? `uid-${name}`,
      resourceVersion: '7',
      annotations: {
        ...(facts.annotations ?? { [annotations.storageProvisioner]: driverName }),
        ...(facts.node === undefined ? {} : { [annotations.selectedNode]: facts.node }),
      },
      ...(finalizers.length === 0 ? {} : { finalizers }),
      ...(facts.deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      storageClassName: 'fast',
      accessModes: ['ReadWriteOnce'],
      volumeMode: 'Filesystem',
      resources: { requests: { storage: '5Gi' } },
      ...facts.spec,
    },
    status: { phase: 'Pending' },
  };
}

export function aClass(storageClass: Partial<StorageClass> = {}): StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast', uid: 'class-uid' },
    provisioner: driverName,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
    ...storageClass,
  };
}

export interface VolumeFacts {
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deleting?: 'yes';
  readonly phase?: string;
  readonly policy?: string;
  readonly spec?: Partial<NonNullable<PersistentVolume['spec']>>;
}

/** A PersistentVolume that is to be deleted: Released, with reclaim policy Delete and our finalizer. */
export function aVolume(facts: VolumeFacts = {}): PersistentVolume {
  const { name = 'pvc-uid-data' } = facts;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '9',
      annotations: facts.annotations ?? {
        [annotations.provisionedBy]: driverName,
        [annotations.deletionSecretName]: '',
        [annotations.deletionSecretNamespace]: '',
      },
      finalizers: facts.finalizers ?? ['kubernetes.io/pv-protection', volumeFinalizer],
      ...(facts.deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: facts.policy ?? 'Delete',
      storageClassName: 'fast',
      claimRef: { kind: 'PersistentVolumeClaim', namespace: 'team', name: 'data', uid: 'uid-data' },
      csi: { driver: driverName, volumeHandle: `handle-of-${name}` },
      ...facts.spec,
    },
    status: { phase: facts.phase ?? 'Released' },
  };
}

/** The secret `s`, with one key. */
export function aSecret(value = 'value'): Secret {
  const data = { key: Buffer.from(value).toString('base64') };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'ns' }, data };
}

/** A node of a zone, and the registration of the driver there. */
export function aNode(name: string, zone: string = name): readonly [Node, CSINode] {
  return [
    { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { zone } } },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name },
      spec: { drivers: [{ name: driverName, nodeID: name, topologyKeys: ['zone'] }] },
    },
  ];
}

export interface SnapshotFacts {
  readonly namespace?: string;
  readonly finalizers?: readonly string[];
  readonly deleting?: 'yes';
  readonly ready?: boolean;
  readonly restoreSize?: string | undefined;
  /** Null: the snapshot has none. */
  readonly status?: VolumeSnapshot['status'] | null;
}

/** The snapshot `daily`, ready, of 5 GiB. */
export function aSnapshot(facts: SnapshotFacts = {}): VolumeSnapshot {
  const { ready = true } = facts;
  const size = Object.hasOwn(facts, 'restoreSize') ? facts.restoreSize : '5Gi';
  const status = facts.status ?? {
    boundVolumeSnapshotContentName: 'content-daily',
    readyToUse: ready,
    ...(size === undefined ? {} : { restoreSize: size }),
  };
  const finalizers = facts.finalizers ?? [];
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: {
      name: 'daily',
      namespace: facts.namespace ?? 'team',
      uid: 'uid-daily',
      ...(finalizers.length === 0 ? {} : { finalizers }),
      ...(facts.deleting === 'yes' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { source: { persistentVolumeClaimName: 'origin' } },
    ...(facts.status === null ? {} : { status }),
  };
}

export interface ContentFacts {
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: VolumeSnapshotContent['status'] | null;
}

/** The content of `aSnapshot`. */
export function aContent(facts: ContentFacts = {}): VolumeSnapshotContent {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'content-daily', uid: 'uid-content', annotations: facts.annotations ?? {} },
    spec: {
      deletionPolicy: 'Delete',
      driver: driverName,
      sourceVolumeMode: 'Filesystem',
      volumeSnapshotRef: {
        kind: 'VolumeSnapshot',
        namespace: facts.namespace ?? 'team',
        name: 'daily',
        uid: 'uid-daily',
      },
      ...facts.spec,
    },
    ...(facts.status === null
      ? {}
      : { status: facts.status ?? { readyToUse: true, snapshotHandle: 'snapshot-handle' } }),
  };
}

/** The bound claim `origin`, which others are cloned from. */
export function anOrigin(facts: ClaimFacts & { readonly namespace?: string } = {}): PersistentVolumeClaim {
  const claim = aClaim({ name: 'origin', ...facts, spec: { volumeName: 'pv-origin', ...facts.spec } });
  const metadata = { ...claim.metadata, namespace: facts.namespace ?? 'team' };
  return { ...claim, metadata, status: { phase: 'Bound' } };
}

/** The PersistentVolume of `anOrigin`. */
export function aBoundVolume(facts: VolumeFacts & { readonly namespace?: string } = {}): PersistentVolume {
  return aVolume({
    name: 'pv-origin',
    phase: 'Bound',
    ...facts,
    spec: {
      claimRef: {
        kind: 'PersistentVolumeClaim',
        namespace: facts.namespace ?? 'team',
        name: 'origin',
        uid: 'uid-origin',
      },
      csi: { driver: driverName, volumeHandle: 'origin-handle' },
      ...facts.spec,
    },
  });
}

/** Permits the claims of namespace `team` to use everything of the kind in the namespace. */
export function aGrant(namespace: string, to: { readonly group: string; readonly kind: string }): ReferenceGrant {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1beta1',
    kind: 'ReferenceGrant',
    metadata: { name: 'grant', namespace },
    spec: { from: [{ group: '', kind: 'PersistentVolumeClaim', namespace: 'team' }], to: [to] },
  };
}
