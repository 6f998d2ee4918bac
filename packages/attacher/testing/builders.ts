// SPDX-License-Identifier: Apache-2.0
/** Objects and facts for tests. They are complete and valid by default, so that a test names only what matters to it. */
import { aDriver, driverName } from '@csi-sidecars/csi/testing';
import type { CSINode, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import { annotations, finalizerOf } from '../src/names.ts';
import type { AttacherSettings } from '../src/settings.ts';

export { aDriver, driverName };
export const finalizer: string = finalizerOf(driverName);
const deletedAt = '2026-01-01T00:00:00Z';

export function someSettings(settings: Partial<AttacherSettings> = {}): AttacherSettings {
  return {
    workerThreads: 10,
    retryIntervalStartMs: 1_000,
    retryIntervalMaxMs: 300_000,
    timeoutMs: 15_000,
    resyncMs: 600_000,
    maxEntries: 0,
    reconcileSyncMs: 60_000,
    defaultFsType: '',
    features: { errorCodes: true },
    ...settings,
  };
}

export interface AttachmentFacts {
  readonly name?: string;
  readonly uid?: string;
  readonly attacher?: string;
  readonly node?: string;
  readonly source?: VolumeAttachment['spec']['source'];
  /** Default: none. Our finalizer is `finalizer`. */
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deleting?: 'yes';
  readonly status?: VolumeAttachment['status'];
}

/** By default a new attachment of the PersistentVolume `pv1` to the node `node1`. */
export function anAttachment(facts: AttachmentFacts = {}): VolumeAttachment {
  const { name = 'va1', finalizers } = facts;
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: {
      name,
      uid: facts.uid ?? `uid-of-${name}`,
      resourceVersion: '7',
      ...(facts.annotations === undefined ? {} : { annotations: facts.annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(facts.deleting === 'yes' ? { deletionTimestamp: deletedAt } : {}),
    },
    spec: {
      attacher: facts.attacher ?? driverName,
      nodeName: facts.node ?? 'node1',
      source: facts.source ?? { persistentVolumeName: 'pv1' },
    },
    status: facts.status ?? { attached: false },
  };
}

/** The facts of an attachment that is attached. */
export const attached: Pick<AttachmentFacts, 'finalizers' | 'annotations' | 'status'> = {
  finalizers: [finalizer],
  annotations: { [annotations.nodeId]: 'id-of-node1' },
  status: { attached: true },
};

export interface VolumeFacts {
  readonly name?: string;
  /** Default: our finalizer. */
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deleting?: 'yes';
  readonly csi?: Partial<NonNullable<NonNullable<PersistentVolume['spec']>['csi']>>;
  readonly spec?: Partial<NonNullable<PersistentVolume['spec']>>;
}

export function aVolume(facts: VolumeFacts = {}): PersistentVolume {
  const { name = 'pv1', finalizers = [finalizer] } = facts;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: '9',
      ...(finalizers.length === 0 ? {} : { finalizers }),
      ...(facts.annotations === undefined ? {} : { annotations: facts.annotations }),
      ...(facts.labels === undefined ? {} : { labels: facts.labels }),
      ...(facts.deleting === 'yes' ? { deletionTimestamp: deletedAt } : {}),
    },
    spec: {
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
      volumeMode: 'Filesystem',
      csi: { driver: driverName, volumeHandle: name.replace('pv', 'volume-'), ...facts.csi },
      ...facts.spec,
    },
  };
}

/** A node where the driver is registered with this node id. */
export function aCsiNode(name = 'node1', nodeID = `id-of-${name}`): CSINode {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name, uid: `uid-of-${name}`, resourceVersion: '5' },
    spec: { drivers: [{ name: driverName, nodeID, topologyKeys: [] }] },
  };
}
