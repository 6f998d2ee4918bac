// SPDX-License-Identifier: Apache-2.0
/**
 * What the attach loop knows and the caches do not show, or not yet. Each entry is removed by the event that makes it obsolete, so there
 * are never more entries than attachments. The memory ends with the process.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import type { AttachmentKey } from '../attachment.ts';

export type Secrets = Readonly<Record<string, string>>;

/** A ControllerPublishVolume that was called, together with the call that undoes it. */
export interface Publication {
  /** The UID of the VolumeAttachment that it was made for. */
  readonly uid: string | undefined;
  readonly attachment: AttachmentKey;
  readonly nodeName: string;
  /** Undefined for an inline volume. */
  readonly volumeName: string | undefined;
  readonly undo: UnpublishCall;
}

export interface UnpublishCall {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly secrets: Secrets | undefined;
  readonly migrated: boolean;
}

export interface AttachMemory {
  /**
   * The publications that no finalizer records. An entry is added before a ControllerPublishVolume. It is removed when a later write
   * shows our finalizer on the VolumeAttachment, which then cannot disappear before the volume is unpublished. An entry that stays
   * means that a user removed our finalizer by force.
   */
  readonly publications: Map<AttachmentKey, Publication>;
  /** Volume and node of each call in flight. CSI allows one call at a time for a volume and a node. */
  readonly calls: Set<string>;
  /** Requests in flight that add our finalizer, by the name of the PersistentVolume. Its attachments share the request. */
  readonly volumeFinalizers: Map<string, Promise<PersistentVolume>>;
}

export function createAttachMemory(): AttachMemory {
  return { publications: new Map(), calls: new Set(), volumeFinalizers: new Map() };
}
