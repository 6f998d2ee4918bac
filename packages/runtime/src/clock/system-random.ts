// SPDX-License-Identifier: Apache-2.0
import { randomInt, randomUUID } from 'node:crypto';
import type { Random } from './random.ts';

/** The largest range that randomInt takes. */
const range = 2 ** 48 - 1;

export function systemRandom(): Random {
  return { next: () => randomInt(range) / range, uuid: randomUUID };
}
