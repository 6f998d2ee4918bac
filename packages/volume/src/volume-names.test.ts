// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { toVolumeName } from './volume-names.ts';

const uid = '00000000-0000-1000-a000-0123456789ab';

describe('volume names', () => {
  it('[provisioner#58] given a shortened UID, when named, then prefix, dash and the first characters', () => {
    expect(toVolumeName('testid', { prefix: 'test', uuidLength: 5 })).toEqual({ kind: 'ok', value: 'test-testi' });
    expect(toVolumeName(uid, { prefix: 'pvc', uuidLength: 10 })).toEqual({ kind: 'ok', value: 'pvc-0000000000' });
  });

  it('[provisioner#61] given length 0, when two claims are named, then they collide', () => {
    const names = ['a-1', 'b-2'].map((claim) => toVolumeName(claim, { prefix: 'pvc', uuidLength: 0 }));
    expect(names).toEqual([
      { kind: 'ok', value: 'pvc-' },
      { kind: 'ok', value: 'pvc-' },
    ]);
  });

  it('given no length, when named, then the UID is unchanged', () => {
    expect(toVolumeName(uid, { prefix: 'pvc' })).toEqual({ kind: 'ok', value: `pvc-${uid}` });
  });

  it('[provisioner#59,60] given no UID or no prefix, when named, then it is refused', () => {
    expect([toVolumeName('', { prefix: 'pvc' }), toVolumeName(uid, { prefix: '' })]).toEqual([
      { kind: 'error', message: 'corrupted PVC object, it is missing UID' },
      { kind: 'error', message: 'volume name prefix cannot be of length 0' },
    ]);
  });
});
