// SPDX-License-Identifier: Apache-2.0
import type { ApiClient } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { sharedDiscovery } from './discovery.ts';

it('given the clients of two controllers, then the kinds of a group are asked once, and anything else by each', async () => {
  const asked: unknown[] = [];
  let isUp = false;
  const client = (name: string) =>
    ({
      get: name,
      raw: async (...question: readonly unknown[]) => {
        asked.push([name, ...question]);
        if (!isUp) throw new Error('not yet');
        return `the answer for ${name}`;
      },
    }) as unknown as ApiClient;
  const share = sharedDiscovery();
  const one = share(client('one'));
  const two = share(client('two'));
  expect([one, two]).toMatchObject([{ get: 'one' }, { get: 'two' }]);
  const options = { signal: new AbortController().signal };
  await expect(one.raw('/apis/a/v1', options)).rejects.toThrow('not yet');
  isUp = true;
  // The failure is forgotten, the answer is not.
  expect(await Promise.all([two.raw('/apis/a/v1', options), one.raw('/apis/a/v1')])).toEqual(
    Array(2).fill('the answer for two'),
  );
  expect(await one.raw('/apis/a/v1')).toBe('the answer for two');
  expect(await one.raw('/apis/b/v1')).toBe('the answer for one');
  expect([await one.raw('/version', options), await two.raw('/version')]).toEqual([
    'the answer for one',
    'the answer for two',
  ]);
  expect(asked).toEqual([
    ['one', '/apis/a/v1', options],
    ['two', '/apis/a/v1', options],
    ['one', '/apis/b/v1', undefined],
    ['one', '/version', options],
    ['two', '/version', undefined],
  ]);
});
