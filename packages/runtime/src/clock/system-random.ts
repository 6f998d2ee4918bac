// SPDX-License-Identifier: Apache-2.0
import type * as nodeCrypto from 'node:crypto';
import process from 'node:process';
import type { Random } from './random.ts';

type Crypto = Pick<typeof nodeCrypto, 'randomInt' | 'randomUUID'>;

/** The largest range that randomInt takes. */
const range = 2 ** 48 - 1;

/** The module is loaded when it is first asked: a program that never does saves a MiB. */
export function systemRandom(): Random {
  const crypto = (): Crypto => process.getBuiltinModule('node:crypto');
  return { next: () => crypto().randomInt(range) / range, uuid: () => crypto().randomUUID() };
}
