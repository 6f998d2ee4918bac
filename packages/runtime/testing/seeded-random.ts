// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../src/clock/random.ts';

/** The same seed yields the same sequence (mulberry32: small and good enough for schedules, not for secrets). */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  const nextUint32 = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  const hex = (): string => nextUint32().toString(16).padStart(8, '0');
  return {
    next: () => nextUint32() / 2 ** 32,
    uuid: () => {
      const digits = hex() + hex() + hex() + hex();
      const variant = '89ab'[Number.parseInt(digits.charAt(16), 16) % 4];
      return [
        digits.slice(0, 8),
        digits.slice(8, 12),
        `4${digits.slice(13, 16)}`,
        `${variant}${digits.slice(17, 20)}`,
        digits.slice(20),
      ].join('-');
    },
  };
}
