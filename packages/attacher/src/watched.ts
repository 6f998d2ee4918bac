// SPDX-License-Identifier: Apache-2.0
/**
 * What the attacher watches, and which part of it the caches keep. A filter drops what no loop reads before an object is stored, so
 * objects of other drivers cost almost no memory and no queue work.
 *
 * | kind | kept objects | kept content |
 * |---|---|---|
 * | VolumeAttachment | ours | everything |
 * | | those of other attachers for PersistentVolumes | its name and the volume's: it delays the release of that volume |
 * | PersistentVolume | those of this driver, in-tree ones that it may serve, any with our finalizer | the fields that the loops read |
 * | CSINode | all | our driver's node id |
 *
 * PersistentVolumes are only ever patched, so partial objects in the cache are enough. The attach loop lists a PersistentVolume that
 * it needs and that the cache dropped.
 */
import {
  type CSINode,
  csiNodes,
  identityOf,
  type InformerOptions,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { driverOn, isInTree, replacesPlugin } from '@csi-sidecars/volume';
import { finalizerOf } from './names.ts';

export interface WatchedOptions {
  readonly driverName: string;
  readonly resyncMs: number;
}

/** The names of the queues in metrics, as in upstream. */
export const queueNames = { attachments: 'csi-attacher-va', volumes: 'csi-attacher-pv' } as const;

export interface Watched {
  readonly attachments: InformerOptions<VolumeAttachment>;
  readonly volumes: InformerOptions<PersistentVolume>;
  readonly csiNodes: InformerOptions<CSINode>;
}

export function watchedBy(options: WatchedOptions): Watched {
  return {
    attachments: watchedAttachments(options),
    volumes: watchedVolumes(options),
    csiNodes: watchedCsiNodes(options),
  };
}

/** The index `volume` finds those of every attacher by PersistentVolume name; the index `node` finds ours by node name. */
export function watchedAttachments({ driverName, resyncMs }: WatchedOptions): InformerOptions<VolumeAttachment> {
  return {
    resource: volumeAttachments,
    resyncMs,
    indexers: {
      volume: ({ spec }) => (spec.source.persistentVolumeName === undefined ? [] : [spec.source.persistentVolumeName]),
      node: ({ spec }) => (spec.attacher === driverName ? [spec.nodeName] : []),
    },
    transform: {
      id: `attacher attachments of ${driverName}`,
      apply: (attachment) => (attachment.spec.attacher === driverName ? attachment : trimForeign(attachment)),
    },
  };
}

function trimForeign({ metadata, spec }: VolumeAttachment): VolumeAttachment | undefined {
  const { attacher, source } = spec;
  const { persistentVolumeName } = source;
  if (persistentVolumeName === undefined) return undefined;
  return { metadata: identityOf(metadata), spec: { attacher, nodeName: '', source: { persistentVolumeName } } };
}

export function watchedVolumes({ driverName, resyncMs }: WatchedOptions): InformerOptions<PersistentVolume> {
  const finalizer = finalizerOf(driverName);
  const mayServeInTree = replacesPlugin(driverName);
  return {
    resource: persistentVolumes,
    resyncMs,
    transform: {
      id: `attacher volumes of ${driverName}`,
      apply: (volume) => {
        const isOurs =
          volume.spec?.csi?.driver === driverName ||
          volume.metadata?.finalizers?.includes(finalizer) === true ||
          (mayServeInTree && isInTree(volume));
        return isOurs ? trimVolume(volume) : undefined;
      },
    },
  };
}

export function watchedCsiNodes({ driverName, resyncMs }: WatchedOptions): InformerOptions<CSINode> {
  return {
    resource: csiNodes,
    resyncMs,
    transform: {
      id: `attacher CSINodes of ${driverName}`,
      apply: (node) => {
        const driver = driverOn(node, driverName);
        const drivers = driver === undefined ? [] : [{ name: driver.name, nodeID: driver.nodeID }];
        return { metadata: identityOf(node.metadata), spec: { drivers } };
      },
    },
  };
}

/** Drops the fields that only the node side and the binding of claims read. */
function trimVolume(volume: PersistentVolume): PersistentVolume {
  const { metadata, spec } = volume;
  const { capacity: _capacity, nodeAffinity: _affinity, storageClassName: _class, ...kept } = spec ?? {};
  return {
    metadata: {
      ...identityOf(metadata),
      ...(metadata?.annotations === undefined ? {} : { annotations: metadata.annotations }),
      ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
      ...(metadata?.finalizers === undefined ? {} : { finalizers: metadata.finalizers }),
      ...(metadata?.deletionTimestamp === undefined ? {} : { deletionTimestamp: metadata.deletionTimestamp }),
    },
    spec: kept,
  };
}
