// SPDX-License-Identifier: Apache-2.0
/**
 * What the attach loop knows and the caches do not, or not yet. All of it ends with the process, and every entry with the event
 * that makes it superfluous, so there are never more entries than attachments being worked on.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import type { AttachmentKey } from '../attachment.ts';
import type { Publication } from './state.ts';

export interface AttachMemory {
  /**
   * From before a ControllerPublishVolume until a later write to the VolumeAttachment succeeds: from then on its finalizer is
   * known to hold it until the volume is unpublished. Without that write, somebody removed the finalizer by force.
   */
  readonly publications: Map<AttachmentKey, Publication>;
  /** Volume and node of the calls that are under way. CSI wants one at a time. */
  readonly calls: Set<string>;
  /** By the name of the PersistentVolume: our finalizer is being added, for every attachment that needs it. */
  readonly volumeFinalizers: Map<string, Promise<PersistentVolume>>;
}

export function createAttachMemory(): AttachMemory {
  return { publications: new Map(), calls: new Set(), volumeFinalizers: new Map() };
}
