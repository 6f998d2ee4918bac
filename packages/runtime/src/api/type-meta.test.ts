// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { ApiError } from './errors.ts';
import { csiNodes } from './resource.ts';
import { isKept, toListPage, withTypeMeta } from './type-meta.ts';

const metadata = { name: 'a' };
const typed = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode' };

it.each([{}, { apiVersion: typed.apiVersion }, { kind: typed.kind }])(
  'given an object with %j, then a copy has both apiVersion and kind',
  (known) => {
    const object = { ...known, metadata, spec: { drivers: [] } };
    expect(withTypeMeta(csiNodes, object)).toEqual({ ...object, ...typed });
  },
);

it('given an object with apiVersion and kind, then it is returned itself', () => {
  const object = { apiVersion: 'storage.k8s.io/v2', kind: 'Other', metadata, spec: { drivers: [] } };
  expect(withTypeMeta(csiNodes, object)).toBe(object);
});

it.each([
  ['nothing', undefined, 'something else'],
  ['null', null, 'something else'],
  ['an object', { kind: 'Status' }, 'Status'],
  ['a table', { kind: 'Table', items: [] }, 'Table'],
])('given %s for a list, then it is an error of the answer', (_, value, what) => {
  const message = `the server answered a list of csinodes with ${what}`;
  expect(() => toListPage(csiNodes, value)).toThrow(new ApiError({ status: 200, message, body: '' }));
});

it.each([
  [{ items: null }, { items: [], resourceVersion: '' }],
  [
    { items: [], metadata: { resourceVersion: '7', continue: '' } },
    { items: [], resourceVersion: '7' },
  ],
  [
    { items: [], metadata: { resourceVersion: '7', continue: 'c', remainingItemCount: 0 } },
    { items: [], resourceVersion: '7', continue: 'c', remainingItemCount: 0 },
  ],
  [
    { items: [{ metadata }, { metadata, kind: 'Other' }, { metadata, apiVersion: 'v2' }] },
    {
      items: [
        { ...typed, metadata },
        { ...typed, kind: 'Other', metadata },
        { ...typed, apiVersion: 'v2', metadata },
      ],
      resourceVersion: '',
    },
  ],
])('given the list %j, then its page has these items and no field that is missing or empty', (value, page) => {
  expect(toListPage(csiNodes, value)).toStrictEqual(page);
});

const deletionTimestamp = '2026-01-01T00:00:00Z';
it.each([
  ['without metadata', {}, false],
  ['with a finalizer, not deleted', { metadata: { finalizers: ['a'] } }, false],
  ['that is deleted', { metadata: { deletionTimestamp } }, false],
  ['that is deleted, with an empty list of finalizers', { metadata: { deletionTimestamp, finalizers: [] } }, false],
  ['that is deleted, with a finalizer', { metadata: { deletionTimestamp, finalizers: ['a'] } }, true],
  ['that is deleted, without time', { metadata: { deletionTimestamp, deletionGracePeriodSeconds: 0 } }, false],
  ['that is deleted, with time', { metadata: { deletionTimestamp, deletionGracePeriodSeconds: 1 } }, true],
])('given an object %s, then it is kept or gone', (_, object, kept) => {
  expect(isKept(object)).toBe(kept);
});
