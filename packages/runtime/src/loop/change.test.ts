// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { KubeObject } from '../api/objects.ts';
import { toObjectKey } from '../informer/key.ts';
import { changeHandler, isResync } from './change.ts';
import type { Change } from './loop.ts';

const version = (resourceVersion: string): KubeObject => ({ metadata: { name: 'a', resourceVersion } });
const [first, second] = [version('1'), version('2')];

it('given what an informer reports, then each is a change with what was there before and what is there now', () => {
  const changes: Change<KubeObject>[] = [];
  const handler = changeHandler((change) => changes.push(change));
  handler.add?.(first, { isInInitialList: true });
  handler.add?.(first, { isInInitialList: false });
  handler.update?.(first, second);
  handler.delete?.({ key: toObjectKey(undefined, 'a'), object: second, observed: true, stored: first });
  expect(changes).toStrictEqual([
    { previous: undefined, current: first, isInInitialList: true },
    { previous: undefined, current: first, isInInitialList: false },
    { previous: first, current: second, isInInitialList: false },
    { previous: second, current: undefined, isInInitialList: false },
  ]);
});

it.each<[string, KubeObject | undefined, KubeObject | undefined, boolean]>([
  ['the same version again', first, version('1'), true],
  ['another version', first, second, false],
  ['an object that was added', undefined, first, false],
  ['an object that is gone', first, undefined, false],
  ['an added object without a version', undefined, {}, false],
  ['an object without a version that is gone', {}, undefined, false],
  ['an object without metadata before', {}, first, false],
  ['an object without metadata now', first, {}, false],
])('given %s, then it is known whether the object has changed', (...[, previous, current, is]) => {
  expect(isResync({ previous, current, isInInitialList: false })).toBe(is);
});
