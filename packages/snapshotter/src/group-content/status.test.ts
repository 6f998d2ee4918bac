// SPDX-License-Identifier: Apache-2.0
import type { VolumeSnapshotInfo } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aGroupContent } from '../../testing/builders.ts';
import { statusOf } from './status.ts';

const member = (name: string, readyToUse: boolean): VolumeSnapshotInfo => ({
  volumeHandle: `volume-${name}`,
  snapshotHandle: name,
  readyToUse,
});
const change = (known: readonly VolumeSnapshotInfo[], members: readonly VolumeSnapshotInfo[]): unknown => {
  const status = { volumeGroupSnapshotHandle: 'g', creationTime: '2026-01-01T00:00:00Z', readyToUse: false };
  const content = aGroupContent({ status: { ...status, volumeSnapshotInfoList: known } });
  return statusOf(content, { handle: 'g', isReady: false, createdAt: 7, members }, 1_000);
};

it('given members that are ready already, when the driver reports them again, then nothing is written', () => {
  const ready = [member('a', true), member('b', true)];
  expect(change(ready, ready)).toBeUndefined();
});

it('given one member of two that becomes ready, then the list is written with that one changed', () => {
  const changed = change([member('a', true), member('b', false)], [member('a', false), member('b', true)]);
  expect(changed).toEqual({ volumeSnapshotInfoList: [member('a', true), member('b', true)] });
});

it('given one member of three that becomes ready, then no other one does', () => {
  const known = [member('a', true), member('b', false), member('c', false)];
  const changed = change(known, [member('b', true), member('c', false)]);
  expect(changed).toEqual({ volumeSnapshotInfoList: [member('a', true), member('b', true), member('c', false)] });
});

it.each([
  { given: 'a time', createdAt: 1_700_000_000_123_456_789n, creationTime: '2023-11-14T22:13:20Z' },
  { given: 'no time', createdAt: undefined, creationTime: '1970-01-01T00:00:01Z' },
])(
  'given an answer with $given, then it is recorded as $creationTime, in seconds [P7]',
  ({ createdAt, creationTime }) => {
    const status = { volumeGroupSnapshotHandle: 'g', readyToUse: true };
    const taken = { handle: 'g', isReady: true, createdAt, members: [] };
    expect(statusOf(aGroupContent({ status }), taken, 1_000)).toEqual({ creationTime });
  },
);

it('given no members yet, then all of the answer are recorded', () => {
  expect(change([], [member('a', false)])).toEqual({ volumeSnapshotInfoList: [member('a', false)] });
});

it('given a snapshot of a volume that is not in the group, then the list stays', () => {
  expect(change([member('a', false)], [member('a', false), member('c', true)])).toBeUndefined();
});

it('given another snapshot of a volume that is in the list, then the list stays', () => {
  expect(change([member('a', false)], [{ ...member('a', true), snapshotHandle: 'other' }])).toBeUndefined();
});

it('[csi-snapshotter#89] given an answer that left out a volume of the group, when a later one has its snapshot, then the snapshot is added', () => {
  const first = { volumeHandle: 'volume-1', snapshotHandle: 'a', readyToUse: false };
  const late = { volumeHandle: 'volume-2', snapshotHandle: 'b', readyToUse: false };
  expect(change([first], [{ ...first, snapshotHandle: 'other' }, late])).toEqual({
    volumeSnapshotInfoList: [first, late],
  });
});
