// SPDX-License-Identifier: Apache-2.0
/**
 * What the attach loop knows and the caches do not, or not yet. All of it ends with the process, and every entry with the event
 * that makes it needless, so there are never more of them than attachments being worked on.
 */
import type { AttachmentName, Publication } from './state.ts';

export interface AttachMemory {
  /**
   * From before a ControllerPublishVolume until a later write to the VolumeAttachment succeeded: from then on its finalizer is
   * known to hold it until the volume is taken off the node. Without that, somebody took the finalizer off by force.
   */
  readonly publications: Map<AttachmentName, Publication>;
  /** Volume and node of the calls that are under way. CSI wants one at a time. */
  readonly places: Set<string>;
}

export function createAttachMemory(): AttachMemory {
  return { publications: new Map(), places: new Set() };
}
