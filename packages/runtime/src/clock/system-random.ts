// SPDX-License-Identifier: Apache-2.0
import type * as nodeCrypto from 'node:crypto';
import process from 'node:process';
import type { Random } from './random.ts';

type Crypto = Pick<typeof nodeCrypto, 'randomFillSync' | 'randomUUID'>;

/** The number of values drawn at a time: the name of every event needs one, and the call costs far more than the value. */
const drawn = 64;

/** The module is loaded at the first use, so that a program that never uses it saves a MiB. */
export function systemRandom(): Random {
  const crypto = (): Crypto => process.getBuiltinModule('node:crypto');
  const numbers = new Uint32Array(drawn);
  let left = 0;
  return {
    next: () => {
      if (left === 0) {
        crypto().randomFillSync(numbers);
        left = drawn;
      }
      left -= 1;
      return (numbers[left] ?? 0) / 2 ** 32;
    },
    uuid: () => crypto().randomUUID(),
  };
}
