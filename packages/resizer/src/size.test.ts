// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { toSize, toText } from './size.ts';

it.each([undefined, '', 'many'])('given the size %s, then it is zero, in the format of sizes', (text) => {
  expect(toSize(text)).toEqual({ nanos: 0n, format: 'BinarySI' });
});

it('given 1.5Gi, then its text is 1536Mi', () => {
  expect(toText(toSize('1.5Gi'))).toBe('1536Mi');
});
