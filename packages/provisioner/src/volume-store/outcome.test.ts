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

  it('given a refusal, when judged, then the message names the volume and says why; another failure is the cause', () => {
    expect(toSaveFailure(apiError(403), 'pv')).toEqual({
      row: 'S7',
      kind: 'refused',
      message: expect.stringMatching(/pv.*no/),
    });
    const reset = new Error('reset');
    expect(toSaveFailure(reset, 'pv')).toEqual({ row: 'S8', kind: 'later', cause: reset });
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
    expect(compare({ claimRef, csi: { ...csi, driver: 'x' } })).toBe(kept);
  });

  it('given each comparison, when judged, then the row is that of the table', () => {
    const rowOf = (spec: object): string => compareExisting(aVolume({ name: 'pv', spec }), wanted).row;
    expect([rowOf({ claimRef, csi }), rowOf({ claimRef: other, csi })]).toEqual(['S3', 'S4']);
    expect(rowOf({ claimRef, csi: { ...csi, volumeHandle: 'v2' } })).toBe('S5');
  });

  it('given the object that has the name is empty, when compared, then it is another volume', () => {
    const kept = 'PersistentVolume pv already exists with another volume; volume v1 is kept';
    const empty = { apiVersion: 'v1', kind: 'PersistentVolume' } as const;
    expect(compareExisting({ ...empty, spec: {} }, wanted)).toEqual({ row: 'S5', kind: 'refused', message: kept });
    expect(compareExisting(empty, wanted)).toEqual({ row: 'S5', kind: 'refused', message: kept });
  });

  it('given the volume has no claim in the object that has the name, when compared, then the owner is empty', () => {
    expect(compareExisting({ apiVersion: 'v1', kind: 'PersistentVolume', spec: { csi } }, wanted)).toEqual({
      row: 'S4',
      kind: 'taken',
      message: expect.stringMatching(/belongs to claim \/$/),
    });
  });
});
