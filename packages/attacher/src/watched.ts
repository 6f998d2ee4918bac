// SPDX-License-Identifier: Apache-2.0
/**
 * What the attacher watches, and how little of it is kept. A filter drops what no row of any loop reads before it is stored, so
 * objects of other drivers cost next to no memory and no queue work.
 *
 * | kind | kept | as |
 * |---|---|---|
 * | VolumeAttachment | ours | it is |
 * | | of other attachers, of PersistentVolumes | its name and the volume's: it holds the finalizer of that volume back |
 * | PersistentVolume | of this driver, in-tree ones that it may serve, any with our finalizer | the fields the loops read: it is only ever patched |
 * | CSINode | all | our driver's node id |
 *
 * A PersistentVolume that was dropped and is needed all the same is asked for, see `attach/`.
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

/** Names of the queues in metrics, as upstream's. */
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

/** Index `volume`: by the name of the PersistentVolume, of every attacher. Index `node`: ours, by the name of the node. */
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

/** Without what only the node side and the binding read. */
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
