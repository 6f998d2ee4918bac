// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { keyOf, splitKey, toObjectKey } from './key.ts';

describe('object keys', () => {
  it('[runtime#102] given a key of three parts, when split, then the error names it', () => {
    expect(() => splitKey('a/b/c')).toThrow(new Error('unexpected key format: "a/b/c"'));
  });

  it('given one or two parts, then name, or namespace and name', () => {
    expect(splitKey('pv-1')).toEqual({ name: 'pv-1' });
    expect(splitKey('team/claim')).toEqual({ namespace: 'team', name: 'claim' });
  });

  it('given an object, then its key carries the namespace when it has one', () => {
    expect(keyOf({ metadata: { name: 'pv-1' } })).toBe('pv-1');
    expect(keyOf({ metadata: { namespace: 'team', name: 'claim' } })).toBe('team/claim');
    expect(toObjectKey('', 'pv-1')).toBe('pv-1');
  });

  it('given an object without a name, then it has no key', () => {
    expect(() => keyOf({ kind: 'Pod', metadata: {} })).toThrow('object of kind "Pod" has no name');
    expect(() => keyOf({ metadata: { name: '' } })).toThrow('object of kind "" has no name');
    expect(() => keyOf({})).toThrow('object of kind "" has no name');
  });
});
