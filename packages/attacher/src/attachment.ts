// SPDX-License-Identifier: Apache-2.0
/** Readers for single fields of a VolumeAttachment. */
import { keyOf, type ObjectKey, type VolumeAttachment } from '@csi-sidecars/runtime';

/** The key of the loops that work on VolumeAttachments. */
export type AttachmentKey = ObjectKey;

export function attachmentKey(attachment: VolumeAttachment): AttachmentKey {
  return keyOf(attachment);
}

export function isDeleting({ metadata }: VolumeAttachment): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

export function isAttached({ status }: VolumeAttachment): boolean {
  return status?.attached === true;
}

export function finalizersOf({ metadata }: VolumeAttachment): readonly string[] {
  return metadata?.finalizers ?? [];
}
