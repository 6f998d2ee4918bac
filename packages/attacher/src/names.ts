// SPDX-License-Identifier: Apache-2.0
/** Names that csi-attacher reads and writes in API objects, spelled as upstream spells them. */
import { sanitizedName } from '@csi-sidecars/runtime';

/**
 * A VolumeAttachment has it from before ControllerPublishVolume until after ControllerUnpublishVolume. A PersistentVolume has it from
 * its first attachment until its deletion, because a detach needs its content. The name is not unique: the drivers `a.b` and `a-b`
 * share one.
 */
export function finalizerOf(driverName: string): string {
  return `external-attacher/${sanitizedName(driverName)}`;
}

export function lockNameOf(driverName: string): string {
  return `external-attacher-leader-${driverName}`;
}

export const annotations = {
  /** On a VolumeAttachment: the node id that the driver had registered when the volume was attached. */
  nodeId: 'csi.alpha.kubernetes.io/node-id',
  /** On a PersistentVolume: the driver that serves it in place of an in-tree plugin. Set by the attach/detach controller. */
  migratedTo: 'pv.kubernetes.io/migrated-to',
} as const;
