// SPDX-License-Identifier: Apache-2.0
/** What an answer of the driver changes in the status of a content. What is there once stays: only readiness changes. */
import { definedOnly } from '@csi-sidecars/runtime';
import type { VolumeSnapshotContent } from '@csi-sidecars/volume';
import { handleOf } from '../content-object.ts';
import type { StatusChange } from '../content-types.ts';
import { timeOfNow } from '../int64.ts';
import { readiness } from '../readiness.ts';
import type { TakenSnapshot } from './state.ts';

export function statusOf(
  { status }: VolumeSnapshotContent,
  taken: TakenSnapshot,
  nowMs: number,
): StatusChange | undefined {
  const change: StatusChange = {
    ...readiness(status, taken.isReady),
    ...definedOnly({
      snapshotHandle: handleOf(status?.snapshotHandle) === undefined ? taken.handle : undefined,
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
