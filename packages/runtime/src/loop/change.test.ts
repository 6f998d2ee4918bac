// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createFakeApiServer, FakeClock, seededRandom } from '../../testing/index.ts';
import { deployments } from '../api/common-resources.ts';
import type { KubeObject } from '../api/objects.ts';
import { keyOf, type ObjectKey, toObjectKey } from '../informer/key.ts';
import { changeHandler, generationChanged, isResync, onlyIf } from './change.ts';
import type { Change, ChangeHandler, LoopTypes } from './loop.ts';

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

const generation = (count?: number): KubeObject => ({ metadata: { name: 'a', ...(count && { generation: count }) } });

it.each<[string, KubeObject | undefined, KubeObject | undefined, boolean]>([
  ['an object that was added', undefined, generation(1), true],
  ['an object that is gone', generation(1), undefined, true],
  ['another generation', generation(1), generation(2), true],
  ['the same generation', generation(1), generation(1), false],
  ['an added object without a generation', undefined, generation(), true],
  ['an update of an object without a generation', generation(), generation(), false],
  ['an object without metadata before', {}, generation(1), true],
  ['an object without metadata now', generation(1), {}, true],
])(
  '[runtime#251] given %s, then it is known whether what is wanted may have changed',
  (...[, previous, current, is]) => {
    expect(generationChanged({ previous, current, isInInitialList: false })).toBe(is);
  },
);

it('[runtime#251] given an object with a finalizer, when it is deleted, then its generation changes; when a finalizer is taken off, it does not', () => {
  const { objects, addTypes } = createFakeApiServer({ clock: new FakeClock(), random: seededRandom(1) });
  addTypes({ ...deployments, status: 'withMetadata', generation: true });
  const ref = { namespace: 'ns', name: 'a' };
  const metadata = { ...ref, finalizers: ['example.com/one', 'example.com/two'] };
  const created = objects.seed({ apiVersion: 'apps/v1', kind: 'Deployment', metadata });
  objects.delete(deployments, ref);
  const deleted = objects.get(deployments, ref);
  const released = objects.change(deployments, ref, (object) => ({
    ...object,
    metadata: { ...object.metadata, finalizers: ['example.com/two'] },
  }));
  const isChanged = (previous: KubeObject, current: KubeObject | undefined) =>
    generationChanged({ previous, current, isInInitialList: false });
  expect([isChanged(created, deleted), isChanged(deleted ?? {}, released)]).toEqual([true, false]);
});

interface Labels extends LoopTypes {
  key: ObjectKey;
  watched: { objects: KubeObject };
}

it('given a condition, then its handler gets the changes for which it is true, with the caches', () => {
  const handler: ChangeHandler<Labels, KubeObject> = onlyIf(generationChanged, ({ current }, { objects }) =>
    current === undefined ? undefined : [keyOf(current), toObjectKey(undefined, `of ${objects.size}`)],
  );
  const caches = { objects: { size: 2 } } as Parameters<typeof handler>[1];
  const keysOf = (previous: KubeObject, current: KubeObject) =>
    handler({ previous, current, isInInitialList: false }, caches) ?? [];
  expect(keysOf(generation(1), generation(2))).toEqual(['a', 'of 2']);
  expect(keysOf(generation(2), generation(2))).toEqual([]);
});
