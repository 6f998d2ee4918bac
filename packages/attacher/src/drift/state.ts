// SPDX-License-Identifier: Apache-2.0
/**
 * The comparison of VolumeAttachments with what the driver lists. Where they differ, a user or another program changed something
 * outside of Kubernetes; the attachment is forced, and the attach loop repairs it. Rows R1 to R4 of the attacher's page.
 *
 * Not here: the call to the driver that repairs it (`attach/`). The comparison writes nothing, and ignores volumes that the driver
 * lists without an attachment.
 */
import type { CSINode, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import type { Result } from '@csi-sidecars/volume';

export interface DriftWatches {
  readonly attachments: VolumeAttachment;
  readonly volumes: PersistentVolume;
  readonly csiNodes: CSINode;
}

/** Volume handle -> ids of the nodes where the driver has it published. */
export type Published = ReadonlyMap<string, ReadonlySet<string>>;

/** The names under which the driver lists the volume and the node of an attachment. */
export interface ListedNames {
  readonly volumeHandle: string;
  readonly nodeId: string;
}

export interface Comparison {
  readonly attachment: VolumeAttachment;
  /** The attach loop has called the driver for it since before the list was requested. */
  readonly wasCalled: boolean;
  readonly names: Result<ListedNames>;
}

export type Action = { readonly row: string } & (
  | { readonly kind: 'leave' }
  | { readonly kind: 'skip'; readonly reason: string }
  | { readonly kind: 'unforce' }
  | { readonly kind: 'force'; readonly names: ListedNames; readonly isPublished: boolean }
);
