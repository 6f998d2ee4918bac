// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of a driver whose volumes need no attaching: its VolumeAttachments are marked attached as they come, deleted or not.
 * Rows T1 to T3 of the attacher's page.
 *
 * Not here: calls to the driver, finalizers, node ids. This loop uses none of them.
 */
import type { Attempt, Conclusion, LoopTypes, VolumeAttachment } from '@csi-sidecars/runtime';
import type { AttachmentKey } from '../attachment.ts';

export interface TrivialLoop extends LoopTypes {
  readonly key: AttachmentKey;
  readonly watched: { readonly attachments: VolumeAttachment };
  readonly state: TrivialState;
  readonly action: Action;
}

export interface TrivialState {
  /** Undefined: it is gone, or belongs to another driver. */
  readonly attachment: VolumeAttachment | undefined;
  readonly saved: Attempt;
}

export type Action =
  | { readonly row: string; readonly kind: 'saveAttached'; readonly attachment: VolumeAttachment }
  | Conclusion;
