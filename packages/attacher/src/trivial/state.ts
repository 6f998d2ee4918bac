// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of a driver whose volumes need no attaching: each of its VolumeAttachments is marked attached, even if it is being deleted.
 * Rows T1 to T3 of docs/behaviour/attacher.md.
 *
 * Not here: calls to the driver, finalizers and node ids. This loop uses none of them.
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
  /** Undefined if it is gone or belongs to another driver. */
  readonly attachment: VolumeAttachment | undefined;
  readonly saved: Attempt;
}

export type Action =
  | { readonly row: string; readonly kind: 'saveAttached'; readonly attachment: VolumeAttachment }
  | Conclusion;
