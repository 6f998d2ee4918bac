// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { aContent } from '../../testing/builders.ts';
import type { TakenSnapshot } from './content.ts';
import { statusOf } from './status.ts';

const taken: TakenSnapshot = { handle: 'h', isReady: true, createdAt: 7, size: 5, topologies: [], groupHandle: '' };
const known = { snapshotHandle: 'a', creationTime: 1, restoreSize: 2, volumeGroupSnapshotHandle: 'g' };
const change = (
  status: NonNullable<ReturnType<typeof aContent>['status']>,
  more: Partial<TakenSnapshot> = {},
): unknown => statusOf(aContent({ status }), { ...taken, ...more }, 1_000);

describe('what an answer changes in a status', () => {
  it('given nothing is known, then all that the answer says', () => {
    expect(change({})).toEqual({ snapshotHandle: 'h', readyToUse: true, creationTime: 7, restoreSize: 5 });
    expect(change({}, { groupHandle: 'g' })).toMatchObject({ volumeGroupSnapshotHandle: 'g' });
  });

  it('given everything is known, then only readiness changes', () => {
    expect(change({ ...known, readyToUse: true }, { groupHandle: 'other' })).toBeUndefined();
    expect(change({ ...known, readyToUse: false })).toEqual({ readyToUse: true });
    expect(change(known, { isReady: false })).toEqual({ readyToUse: false });
  });

  it('given an error, then it goes when the snapshot becomes ready, and stays when it does not', () => {
    const error = { message: 'x' };
    expect(change({ ...known, readyToUse: false, error })).toEqual({ readyToUse: true, error: null });
    expect(change({ ...known, error }, { isReady: false })).toEqual({ readyToUse: false });
    expect(change({ ...known, readyToUse: true, error })).toBeUndefined();
  });

  it('given an empty handle in the status, then it counts as none', () => {
    expect(change({ ...known, readyToUse: true, snapshotHandle: '' })).toEqual({ snapshotHandle: 'h' });
  });

  it('given an answer without a time and a size, then now, and no size', () => {
    expect(change({}, { createdAt: undefined, size: undefined })).toEqual({
      snapshotHandle: 'h',
      readyToUse: true,
      creationTime: 1_000_000_000,
    });
  });
});
