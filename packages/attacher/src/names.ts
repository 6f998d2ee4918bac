// SPDX-License-Identifier: Apache-2.0
/** Names that stand in API objects, spelled as upstream spells them. */
import { sanitizedName } from '@csi-sidecars/runtime';

/**
 * On a VolumeAttachment from before ControllerPublishVolume until after ControllerUnpublishVolume; on a PersistentVolume from its
 * first attachment until its deletion, because the detach needs what is in it. Not free of collisions: `a.b` and `a-b` share one.
 */
export function finalizerOf(driverName: string): string {
  return `external-attacher/${sanitizedName(driverName)}`;
}

export function lockNameOf(driverName: string): string {
  return `external-attacher-leader-${driverName}`;
}

export const annotations = {
  /** On a VolumeAttachment: what its node was to the driver when it was attached. */
  nodeId: 'csi.alpha.kubernetes.io/node-id',
  /** On a PersistentVolume: the driver that serves it in place of an in-tree plugin. Set by the attach/detach controller. */
  migratedTo: 'pv.kubernetes.io/migrated-to',
} as const;
