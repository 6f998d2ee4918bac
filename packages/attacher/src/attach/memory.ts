// SPDX-License-Identifier: Apache-2.0
/**
 * What the attach loop knows and the caches do not, or not yet. All of it ends with the process, and every entry with the event
 * that makes it needless, so there are never more of them than attachments being worked on.
 */
import type { AttachmentName, UnpublishCall } from './state.ts';

export interface AttachMemory {
  /**
   * From before a ControllerPublishVolume until a later write to the VolumeAttachment succeeded: from then on its finalizer is
   * known to hold it until the volume is taken off the node. Without that, somebody took the finalizer off by force.
   */
  readonly publications: Map<AttachmentName, Publication>;
  /** Volume and node of the calls that are under way. CSI wants one at a time. */
  readonly places: Set<string>;
}

export interface Publication {
  /** Of the VolumeAttachment it was for. */
  readonly uid: string | undefined;
  readonly attachmentName: AttachmentName;
  readonly nodeName: string;
  /** Undefined: an inline volume. */
  readonly volumeName: string | undefined;
  readonly undo: UnpublishCall;
}

export function createAttachMemory(): AttachMemory {
  return { publications: new Map(), places: new Set() };
}
