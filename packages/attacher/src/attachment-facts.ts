// SPDX-License-Identifier: Apache-2.0
/** What single fields of a VolumeAttachment mean. */
import type { VolumeAttachment } from '@csi-sidecars/runtime';

export function isDeleting({ metadata }: VolumeAttachment): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

export function isAttached({ status }: VolumeAttachment): boolean {
  return status?.attached === true;
}

export function finalizersOf({ metadata }: VolumeAttachment): readonly string[] {
  return metadata?.finalizers ?? [];
}
