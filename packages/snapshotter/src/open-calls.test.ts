// SPDX-License-Identifier: Apache-2.0
import { toObjectKey } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aContent } from '../testing/builders.ts';
import { createOpenCalls } from './open-calls.ts';

const key = toObjectKey(undefined, 'content');
const other = toObjectKey(undefined, 'other');

it('given a call that has begun, then it is open for its content until it ends, and for no other object', () => {
  const calls = createOpenCalls();
  calls.begin(key, aContent());
  expect(calls.has(key, aContent({ annotations: { a: 'b' } }))).toBe(true);
  expect(calls.has(key, aContent({ uid: 'another' }))).toBe(false);
  expect(calls.has(key, undefined)).toBe(false);
  expect(calls.has(other, aContent({ name: 'other' }))).toBe(false);
  calls.end(key);
  expect(calls.has(key, aContent())).toBe(false);
});
