// SPDX-License-Identifier: Apache-2.0
/**
 * The comparison of VolumeAttachments with what the driver lists. Where they differ, somebody changed something behind our
 * back; the attachment is forced, and the attach loop puts it right. Rows R1 to R4 of the attacher's page.
 *
 * Not here: the call to the driver that puts it right (`attach/`). Nothing is written from here, and what the driver lists
 * without an attachment is none of our business.
 */
import type { VolumeAttachment } from '@csi-sidecars/runtime';
import type { Result } from '@csi-sidecars/volume';

/** Volume handle -> ids of the nodes where the driver has it published. */
export type Published = ReadonlyMap<string, ReadonlySet<string>>;

/** Under which names the driver lists the volume and the node of an attachment. */
export interface Place {
  readonly volumeHandle: string;
  readonly nodeId: string;
}

export interface Comparison {
  readonly attachment: VolumeAttachment;
  /** The attach loop has called the driver for it since before the list was asked for. */
  readonly wasCalled: boolean;
  readonly place: Result<Place>;
}

export type Action =
  | { readonly kind: 'leave' }
  | { readonly kind: 'skip'; readonly reason: string }
  | { readonly kind: 'unforce' }
  | { readonly kind: 'force'; readonly place: Place; readonly published: boolean };
