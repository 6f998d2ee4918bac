// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { describe } from './describe.ts';
import { Refusal } from './refusal.ts';

it('given a refusal, then its sentence is all there is', () => {
  expect(describe(new Refusal('a kubelet runs already'))).toBe('a kubelet runs already');
});

it('given a failure with causes, then each is there with its stack', () => {
  const text = describe(new Error('not within 30 s', { cause: new Error('HTTP 500') }));
  expect(text).toMatch(/^Error: not within 30 s\n +at .*\ncaused by: Error: HTTP 500\n +at /s);
});

it('given a failure in the clean-up after another one, then both are there, the later first', () => {
  const text = describe(new SuppressedError(new Error('left behind'), new Error('the first')));
  expect(text).toMatch(/^Error: left behind.*\nafter: Error: the first/s);
});
