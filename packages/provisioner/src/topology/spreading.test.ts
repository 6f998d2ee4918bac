// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { spread } from './requirement.ts';

const offsets = (name: string): readonly number[] => [2, 3, 4, 5].map((count) => spread(name, count));

describe('spreading', () => {
  it.each([
    ['testpvcA-testset-1', [0, 0, 0, 1]],
    ['testset-2', [1, 1, 1, 2]],
    ['testpvc-testset-3', [0, 2, 2, 3]],
    ['testpvc-testset-4', [1, 0, 3, 4]],
    ['testpvc', [0, 2, 2, 3]],
    ['data-web-0', [1, 0, 1, 0]],
    ['logs-web-0', [1, 0, 1, 0]],
    ['data-web-1', [0, 1, 2, 1]],
    ['data-web-2', [1, 2, 3, 2]],
    ['data-web-3', [0, 0, 0, 3]],
    ['data-my-db-0', [1, 1, 3, 3]],
    ['my-claim', [0, 0, 0, 3]],
    ['foo-', [0, 0, 0, 1]],
    ['pvc-007', [1, 2, 1, 3]],
    ['pvc-99999999999', [0, 0, 2, 1]],
    ['a-4294967295', [1, 1, 1, 0]],
    ['-5', [0, 0, 2, 1]],
  ])('[provisioner-topology-capacity#T29] given %s, when spread over 2 to 5 entries, then %j', (name, expected) => {
    expect(offsets(name)).toEqual(expected);
  });

  it('[provisioner-topology-capacity#T45] given an ordinal beyond 32 bits, when spread, then the whole name is hashed', () => {
    expect(offsets('pvc-99999999999')).not.toEqual(offsets('pvc-99999999998'));
    expect(offsets('a-4294967295')).toEqual(offsets('b-a-4294967295'));
  });

  it('[provisioner-topology-capacity#T46] given nothing before or after the last dash, when spread, then the vectors hold', () => {
    expect(offsets('foo-')).not.toEqual(offsets('foo'));
    expect(offsets('-5')).toEqual(offsets('x--5'));
  });
});
