// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { timeoutText } from './timeout-text.ts';

it.each([
  [-1, '0m'],
  [0, '0m'],
  [0.1, '1m'],
  [99_999_999, '99999999m'],
  [99_999_999.5, '100000S'],
  [100_000_000, '100000S'],
  [100_000_001, '100001S'],
  [99_999_999_000, '99999999S'],
  [99_999_999_001, '99999999S'],
])('given a time limit of %d ms, then the header is %s: rounded up, with at most eight digits', (ms, text) => {
  expect(timeoutText(ms)).toBe(text);
});
