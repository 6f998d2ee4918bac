// SPDX-License-Identifier: Apache-2.0
/**
 * The comparison of VolumeAttachments with what the driver lists. If they differ, a user or another program changed something
 * outside of Kubernetes. The comparison then forces the attachment, and the attach loop repairs the difference. Rows R1 to R4 of
 * docs/behaviour/attacher.md.
 *
 * Not here: the call to the driver that repairs the difference (`attach/`). The comparison writes nothing, and ignores listed volumes
 * that have no attachment.
 */
import type { CSINode, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import type { Result } from '@csi-sidecars/volume';

export interface DriftWatches {
  readonly attachments: VolumeAttachment;
  readonly volumes: PersistentVolume;
  readonly csiNodes: CSINode;
}

/** Volume handles, each with the ids of the nodes where the driver has the volume published. */
export type Published = ReadonlyMap<string, ReadonlySet<string>>;

/** The names under which the driver lists the volume and the node of an attachment. */
export interface ListedNames {
  readonly volumeHandle: string;
  readonly nodeId: string;
}

export interface Comparison {
  readonly attachment: VolumeAttachment;
  /** The attach loop has called the driver for this attachment since before the list was requested. */
  readonly wasCalled: boolean;
  readonly names: Result<ListedNames>;
}

export type Action = { readonly row: string } & (
  | { readonly kind: 'leave' }
  | { readonly kind: 'skip'; readonly reason: string }
  | { readonly kind: 'unforce' }
  | { readonly kind: 'force'; readonly names: ListedNames; readonly isPublished: boolean }
);
