// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { presentable } from './presentable.ts';

const hidden = '***stripped***';

it.each(['secrets', 'token', 'password', 'authorization', 'Authorization'])(
  'given a fact called %s, then its value is hidden, and the others are shown',
  (key) => {
    expect(presentable({ node: 'n', [key]: 'x', missing: undefined })).toEqual({
      node: 'n',
      [key]: hidden,
      missing: undefined,
    });
  },
);

it.each([
  ['an object with a namespace', { metadata: { namespace: 'ns', name: 'n', uid: 'u' } }, 'ns/n'],
  ['an object without a namespace', { metadata: { name: 'n' } }, 'n'],
  ['an object whose namespace is empty', { metadata: { namespace: '', name: 'n' } }, 'n'],
  ['a reference with a namespace', { namespace: 'ns', name: 'n' }, 'ns/n'],
  ['a reference of a name only', { name: 'n' }, 'n'],
])('given %s, then its name stands for it', (_, value, shown) => {
  expect(presentable({ value })).toEqual({ value: shown });
});

it.each([
  ['metadata is null', { metadata: null }],
  ['metadata has no name', { metadata: { namespace: 'ns' } }],
  ['name is missing', { namespace: 'ns' }],
  ['name is no text', { namespace: 'ns', name: 5 }],
  ['name is one of several fields', { name: 'n', size: 1 }],
])('given a structure whose %s, then it is shown as it is', (_, value) => {
  expect(presentable({ value })).toEqual({ value });
});

it('given facts without a structure and a credential, then no copy is made', () => {
  const facts = { node: 'n', count: 1, missing: undefined, none: null };
  expect(presentable(facts)).toBe(facts);
});
