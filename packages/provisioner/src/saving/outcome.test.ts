// SPDX-License-Identifier: Apache-2.0
import { ApiError } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aVolume, driverName, type VolumeFacts } from '../../testing/builders.ts';
import { compareExisting, toSaveFailure } from './outcome.ts';

const apiError = (status: number, reason = ''): ApiError => new ApiError({ status, reason, message: 'no' });
const judge = (error: unknown): string => {
  const { row, kind } = toSaveFailure(error, 'pv');
  return `${row} ${kind}`;
};

describe('the answer to a create', () => {
  it('given failures, when judged, then S2, S7 and S8 hold', () => {
    expect(judge(apiError(409, 'AlreadyExists'))).toBe('S2 exists');
    expect([400, 403, 413, 422].map((status) => judge(apiError(status)))).toEqual(Array(4).fill('S7 refused'));
    expect([404, 409, 429, 500, 503, 504].map((status) => judge(apiError(status)))).toEqual(Array(6).fill('S8 later'));
    expect([judge(new Error('reset')), judge('odd')]).toEqual(['S8 later', 'S8 later']);
  });
});

describe('a PersistentVolume that has the name', () => {
  const claimRef = { namespace: 'team', name: 'data', uid: 'uid-data' };
  const other = { namespace: 'else', name: 'where', uid: 'uid-other' };
  const csi = { driver: driverName, volumeHandle: 'v1' };
  const wanted = aVolume({ name: 'pv', spec: { claimRef, csi } });
  const compare = (spec: VolumeFacts['spec']): unknown => {
    const found = compareExisting(aVolume({ name: 'pv', ...(spec === undefined ? {} : { spec }) }), wanted);
    return found.kind === 'same' ? 'same' : `${found.kind}: ${found.message}`;
  };

  it('given claim, driver and volume agree, when compared, then the record counts as ours', () => {
    expect(compare({ claimRef: { ...claimRef, resourceVersion: '99' }, csi })).toBe('same');
  });

  it('given another claim with the same volume, when compared, then the volume belongs to that claim', () => {
    expect(compare({ claimRef: other, csi })).toBe(
      'taken: PersistentVolume pv already exists and belongs to claim else/where',
    );
  });

  it('given another volume or another driver, when compared, then ours is kept and reported', () => {
    const kept = 'refused: PersistentVolume pv already exists with another volume; volume v1 is kept';
    expect(compare({ claimRef, csi: { ...csi, volumeHandle: 'v2' } })).toBe(kept);
    expect(compare({ claimRef: other, csi: { ...csi, driver: 'x' } })).toBe(kept);
  });
});
