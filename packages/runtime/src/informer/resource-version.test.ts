// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareResourceVersions } from './resource-version.ts';

describe('compareResourceVersions', () => {
  it('given versions beyond 2^53, then they are distinguished', () => {
    expect(compareResourceVersions('9007199254740993', '9007199254740992')).toBeGreaterThan(0);
    expect(compareResourceVersions('9007199254740992', '9007199254740993')).toBeLessThan(0);
  });

  it('given versions of one length, then equal ones are equal, and the other ones are one apart', () => {
    expect(['6', '7', '8'].map((other) => compareResourceVersions('7', other))).toEqual([1, 0, -1]);
  });

  it('given any two positive integers, then the order is theirs', () => {
    const version = fc.bigInt(1n, 2n ** 200n);
    fc.assert(
      fc.property(version, version, (a, b) => {
        const sign = a < b ? -1 : Number(a > b);
        expect(Math.sign(compareResourceVersions(`${a}`, `${b}`) ?? NaN)).toBe(sign);
      }),
      { seed: 1 },
    );
  });

  it.each(['', '0', '01', '-1', '1.5', 'abc', '1a'])('given %j, then it cannot be compared', (other) => {
    expect(compareResourceVersions('7', other)).toBeUndefined();
    expect(compareResourceVersions(other, '7')).toBeUndefined();
  });
});
