// SPDX-License-Identifier: Apache-2.0
/**
 * The watches of the provisioner, and the parts of objects that are kept. A filter drops everything that no loop reads before it is
 * stored, so objects of other drivers cost neither memory nor queue work.
 *
 * | kind | kept | as |
 * |---|---|---|
 * | claim | ours without a volume name; any with our provisioning finalizer | it is: claims are updated by PUT |
 * | claim | of any driver, pending, with a source; being deleted, with the finalizer of a clone's source | what protects sources |
 * | VolumeSnapshot | with our finalizer | identity, finalizer, deletion |
 * | PersistentVolume | ours | the fields the loops read: it is only patched |
 * | PersistentVolume | of the driver, made by another provisioner, if volumes are audited | what the audit reads |
 * | VolumeAttachment | of PersistentVolumes | the names of volume and node |
 * | Node | all | labels |
 * | CSINode | all | our driver's entry |
 * | StorageClass | all | it is |
 * | ReferenceGrant | all | what it permits |
 * | CSIStorageCapacity | managed by this instance | it is: it is updated by PUT |
 */
import type { DriverInfo } from '@csi-sidecars/csi';
import {
  type CSINode,
  csiNodes,
  type CSIStorageCapacity,
  csiStorageCapacities,
  definedOnly,
  identityOf,
  type InformerOptions,
  isTraceparent,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type StorageClass,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import {
  driverOn,
  inTreeSourceOf,
  isInTree,
  type NodeDriver,
  toCsiVolume,
  type VolumeSnapshot,
} from '@csi-sidecars/volume';
import { type Management, itemOfObject, selectorOf } from './capacity/object.ts';
import { annotations } from './names.ts';
import { annotationsOf } from './metadata.ts';
import { type ReferenceGrant, referenceGrants } from './source/grants.ts';
import type { NodeDeployment, ProvisionerSettings } from './settings.ts';
import { referencedBy, sourceKey } from './source/source.ts';
import { concernsSources, trimClaim, watchedSnapshots } from './source/protection/watched.ts';
import { finalizerChange, isElsewhere, isOurs as isOurVolume } from './volume/volume.ts';
import { isOurs } from './claim/claim.ts';
import { isProtected } from './claim/protection.ts';

/** The resync period, after which every object is examined again. */
const resyncMs = 15 * 60_000;
const grantResyncMs = 60 * 60_000;

export interface Watched {
  /** Indexes: `uid`, the claims that the claim loop works on; `source`, those that may need the source that they name. */
  readonly claims: InformerOptions<PersistentVolumeClaim>;
  readonly volumes: InformerOptions<PersistentVolume>;
  readonly classes: InformerOptions<StorageClass>;
  /** Undefined if orphaned finalizers are not swept. */
  readonly snapshots: InformerOptions<VolumeSnapshot> | undefined;
  /** Undefined if the driver does not attach. */
  readonly attachments: InformerOptions<VolumeAttachment> | undefined;
  /** These two are undefined without topology. */
  readonly nodes: InformerOptions<Node> | undefined;
  readonly csiNodes: InformerOptions<CSINode> | undefined;
  /** Undefined unless claims may have sources in other namespaces. */
  readonly grants: InformerOptions<ReferenceGrant> | undefined;
}

export interface WatchOptions {
  readonly topology: 'on' | 'off';
  /** `on`: the node affinity of a volume says which capacity its deletion changes. Default `off`. */
  readonly capacity?: 'on' | 'off';
  /** `on`: of a volume is kept what it is compared by. Default `off`. */
  readonly audit?: 'on' | 'off';
  readonly settings: Pick<ProvisionerSettings, 'features' | 'node' | 'snapshotSweepIntervalMs'>;
}

export function watchedBy(
  driver: DriverInfo,
  { topology, capacity = 'off', audit = 'off', settings }: WatchOptions,
): Watched {
  const { controllerCapabilities } = driver;
  const hasSources = controllerCapabilities.has('CREATE_DELETE_SNAPSHOT') || controllerCapabilities.has('CLONE_VOLUME');
  // An instance of a node knows its own node from the driver.
  const watchesNodes = topology === 'on' && settings.node === undefined;
  return {
    claims: watchedClaims(driver.name, hasSources ? 'with sources' : 'ours'),
    volumes: watchedVolumes(driver.name, {
      affinity: capacity === 'on' ? 'kept' : 'dropped',
      node: settings.node,
      audit,
    }),
    classes: { resource: storageClasses },
    snapshots: settings.features.snapshotSweep ? watchedSnapshots(settings.snapshotSweepIntervalMs) : undefined,
    attachments: controllerCapabilities.has('PUBLISH_UNPUBLISH_VOLUME') ? watchedAttachments() : undefined,
    nodes: watchesNodes ? watchedNodes() : undefined,
    csiNodes: watchesNodes ? watchedCsiNodes(driver.name) : undefined,
    grants: settings.features.crossNamespaceVolumeDataSource ? watchedGrants() : undefined,
  };
}

/** One watch for all loops: a claim that it has not brought yet has not been worked on by this process either. */
export function watchedClaims(
  driverName: string,
  which: 'ours' | 'with sources' = 'ours',
): InformerOptions<PersistentVolumeClaim> {
  return {
    resource: persistentVolumeClaims,
    resyncMs,
    indexers: {
      uid: (claim) => (isWorkedOn(claim, driverName) ? [claim.metadata?.uid ?? ''] : []),
      source: (claim) => {
        const source = referencedBy(claim);
        return source === undefined ? [] : [sourceKey(source)];
      },
    },
    transform: {
      id: `provisioner claims of ${driverName}, ${which}`,
      apply: (claim) => {
        if (isWorkedOn(claim, driverName)) return claim;
        return which === 'with sources' && concernsSources(claim) ? trimClaim(claim) : undefined;
      },
    },
  };
}

export interface WatchedVolumesOptions {
  /** Default `dropped`. */
  readonly affinity?: 'kept' | 'dropped';
  /**
   * Only volumes that can be reached from this node are kept, with their affinity, and those of other nodes that have to lose our
   * finalizer. The instance of another node deletes the others.
   */
  readonly node?: Pick<NodeDeployment, 'name' | 'segments'> | undefined;
  /** `on`: with capacity and times, and volumes of the driver that another provisioner made. Default `off`. */
  readonly audit?: 'on' | 'off';
}

export function watchedVolumes(
  driverName: string,
  { affinity = 'dropped', node, audit = 'off' }: WatchedVolumesOptions = {},
): InformerOptions<PersistentVolume> {
  return {
    resource: persistentVolumes,
    resyncMs,
    transform: {
      id: `provisioner volumes of ${driverName}, affinity ${affinity}${node === undefined ? '' : `, on ${node.name}`}${audit === 'on' ? ', audited' : ''}`,
      apply: (volume) => {
        if (!isOurVolume(volume, driverName)) {
          return audit === 'on' && namesVolumeOf(driverName, volume) && !isElsewhere(volume, node)
            ? onlyRecord(volume)
            : undefined;
        }
        if (isElsewhere(volume, node) && finalizerChange(volume) !== 'remove') return undefined;
        const trimmed = audit === 'on' ? withAudited(trimVolume(volume), volume) : trimVolume(volume);
        const nodeAffinity = volume.spec?.nodeAffinity;
        const isDropped = affinity === 'dropped' && node === undefined;
        if (isDropped || nodeAffinity === undefined) return trimmed;
        return { ...trimmed, spec: { ...trimmed.spec, nodeAffinity } };
      },
    },
  };
}

export interface WatchedForCapacity {
  readonly nodes: InformerOptions<Node>;
  readonly csiNodes: InformerOptions<CSINode>;
  readonly classes: InformerOptions<StorageClass>;
  /** Indexes: `item` and `class`. */
  readonly objects: InformerOptions<CSIStorageCapacity>;
}

/** Nodes are watched even if the driver has no topology: it then has one segment once it is registered on a node. */
export function watchedForCapacity(
  driverName: string,
  management: Pick<Management, 'driverName' | 'managedBy' | 'namespace'>,
): WatchedForCapacity {
  return {
    nodes: watchedNodes(),
    csiNodes: watchedCsiNodes(driverName),
    classes: { resource: storageClasses },
    objects: {
      resource: csiStorageCapacities,
      namespace: management.namespace,
      labelSelector: selectorOf(management),
      indexers: {
        item: (object) => [itemOfObject(object)],
        class: ({ storageClassName }) => [storageClassName],
      },
    },
  };
}

export function watchedAttachments(): InformerOptions<VolumeAttachment> {
  return {
    resource: volumeAttachments,
    indexers: { volume: ({ spec }) => [spec.source.persistentVolumeName ?? ''] },
    transform: {
      id: 'provisioner attachments',
      apply: ({ metadata, spec }) => {
        const { persistentVolumeName } = spec.source;
        if (persistentVolumeName === undefined) return undefined;
        const { attacher, nodeName } = spec;
        return { metadata: identityOf(metadata), spec: { attacher, nodeName, source: { persistentVolumeName } } };
      },
    },
  };
}

export function watchedNodes(): InformerOptions<Node> {
  return {
    resource: nodes,
    transform: {
      id: 'provisioner nodes',
      apply: ({ metadata }) => ({ metadata: { ...identityOf(metadata), labels: metadata?.labels ?? {} } }),
    },
  };
}

export function watchedCsiNodes(driverName: string): InformerOptions<CSINode> {
  return {
    resource: csiNodes,
    transform: {
      id: `provisioner CSINodes of ${driverName}`,
      apply: (node) => {
        const driver = driverOn(node, driverName);
        const drivers = driver === undefined ? [] : [trimDriver(driver)];
        return { metadata: identityOf(node.metadata), spec: { drivers } };
      },
    },
  };
}

function watchedGrants(): InformerOptions<ReferenceGrant> {
  return {
    resource: referenceGrants,
    resyncMs: grantResyncMs,
    indexers: { namespace: ({ metadata }) => [metadata?.namespace ?? ''] },
    transform: {
      id: 'provisioner grants',
      apply: ({ metadata, spec }) => ({ metadata: identityOf(metadata), ...definedOnly({ spec }) }),
    },
  };
}

function trimDriver({ name, nodeID, topologyKeys }: NodeDriver): NodeDriver {
  // The server sends null if there are no keys.
  return { name, nodeID, topologyKeys: topologyKeys ?? [] };
}

const keptAnnotations = [
  annotations.provisionedBy,
  annotations.migratedTo,
  annotations.deletionSecretName,
  annotations.deletionSecretNamespace,
  annotations.betaStorageClass,
];

function trimVolume(volume: PersistentVolume): PersistentVolume {
  const { metadata, spec, status } = volume;
  const { claimRef, csi } = spec ?? {};
  const inTree = isInTree(volume);
  return {
    metadata: {
      ...identityOf(metadata),
      annotations: inTree ? annotationsOf(volume) : trimAnnotations(volume),
      // The translation of a volume of an in-tree plugin reads them.
      ...definedOnly({ labels: inTree ? metadata?.labels : undefined }),
      finalizers: metadata?.finalizers ?? [],
      ...definedOnly({ deletionTimestamp: metadata?.deletionTimestamp }),
    },
    spec: definedOnly({
      persistentVolumeReclaimPolicy: spec?.persistentVolumeReclaimPolicy,
      storageClassName: spec?.storageClassName,
      claimRef: claimRef && trimClaimRef(claimRef),
      csi: csi && { driver: csi.driver, volumeHandle: csi.volumeHandle },
      ...inTreeSourceOf(volume),
    }),
    status: definedOnly({ phase: status?.phase }),
  };
}

/** A volume of the driver, whoever made the PersistentVolume. */
function namesVolumeOf(driverName: string, volume: PersistentVolume): boolean {
  const csi = toCsiVolume(volume);
  return csi.kind === 'ok' && csi.value.csi.driver === driverName;
}

/** A volume that no loop works on, because it has no policy: it is there for the audit. */
function onlyRecord(volume: PersistentVolume): PersistentVolume {
  const { persistentVolumeReclaimPolicy: _policy, ...spec } = trimVolume(volume).spec ?? {};
  return withAudited({ ...trimVolume(volume), spec, status: {} }, volume);
}

function withAudited(trimmed: PersistentVolume, { metadata, spec, status }: PersistentVolume): PersistentVolume {
  return {
    ...trimmed,
    metadata: { ...trimmed.metadata, ...definedOnly({ creationTimestamp: metadata?.creationTimestamp }) },
    spec: { ...trimmed.spec, ...definedOnly({ capacity: spec?.capacity }) },
    status: { ...trimmed.status, ...definedOnly({ lastPhaseTransitionTime: status?.lastPhaseTransitionTime }) },
  };
}

function trimAnnotations(volume: PersistentVolume): Readonly<Record<string, string>> {
  const found = annotationsOf(volume);
  const kept: Record<string, string> = {};
  for (const name of keptAnnotations) {
    const value = found[name];
    if (value !== undefined) kept[name] = value;
  }
  for (const [name, value] of Object.entries(found)) if (isTraceparent(name, value)) kept[name] = value;
  return kept;
}

type ClaimRef = NonNullable<NonNullable<PersistentVolume['spec']>['claimRef']>;

function trimClaimRef({ namespace, name, uid }: ClaimRef): ClaimRef {
  return definedOnly({ namespace, name, uid });
}

/** Which claims the claim loop works on. The cache has them whole; of any other claim it has at most what protects sources. */
export function isWorkedOn(claim: PersistentVolumeClaim, driverName: string): boolean {
  const isWaiting = (claim.spec?.volumeName ?? '') === '' && isOurs(claim, driverName);
  return isWaiting || isProtected(claim, driverName);
}
