// SPDX-License-Identifier: Apache-2.0
/** What an answer of the driver changes in the status of a content. What is there once stays: only readiness changes, and the handle of a content that is being deleted. */
import { definedOnly } from '@csi-sidecars/runtime';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { handleOf, newHandleOf } from '../content-object.ts';
import type { StatusChange } from '../content-types.ts';
import { timeOfNow } from '../int64.ts';
import { readiness } from '../readiness.ts';
import type { TakenSnapshot } from './content.ts';

export function statusOf(
  content: VolumeSnapshotContent,
  taken: TakenSnapshot,
  nowMs: number,
): StatusChange | undefined {
  const { status } = content;
  const change: StatusChange = {
    ...readiness(status, taken.isReady),
    ...definedOnly({
      snapshotHandle: newHandleOf(content, { known: status?.snapshotHandle, taken: taken.handle }),
      creationTime: status?.creationTime === undefined ? (taken.createdAt ?? timeOfNow(nowMs)) : undefined,
      restoreSize: status?.restoreSize === undefined ? taken.size : undefined,
      volumeGroupSnapshotHandle:
        status?.volumeGroupSnapshotHandle === undefined ? handleOf(taken.groupHandle) : undefined,
    }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

/** The error and the group stay. */
export const clearedStatus: StatusChange = {
  snapshotHandle: null,
  readyToUse: null,
  creationTime: null,
  restoreSize: null,
};
