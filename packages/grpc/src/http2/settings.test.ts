// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { settings } from '../../testing/raw-peer.ts';
import { ownSettings, readSettings } from './settings.ts';
import type { Role } from './streams.ts';

type Pairs = readonly (readonly [id: number, value: number])[];
const payload = (pairs: Pairs): Buffer => settings(...pairs).subarray(9);

it.each<readonly [Role, Pairs, object]>([
  ['client', [], {}],
  ['client', [[2, 0]], {}],
  ['server', [[2, 1]], {}],
  ['client', [[3, 0]], { maxConcurrentStreams: 0 }],
  ['client', [[4, 2 ** 31 - 1]], { initialWindow: 2 ** 31 - 1 }],
  [
    'client',
    [
      [5, 16_384],
      [1, 9],
      [99, 9],
    ],
    { maxFrame: 16_384 },
  ],
  [
    'server',
    [
      [3, 1],
      [4, 2],
      [5, 3],
      [3, 7],
    ],
    { maxConcurrentStreams: 7, initialWindow: 2, maxFrame: 3 },
  ],
])('given a %s whose peer sets %j, then it reads %j', (role, pairs, expected) => {
  expect(readSettings(payload(pairs), role)).toStrictEqual(expected);
});

it.each<readonly [Role, Pairs, number, string]>([
  ['client', [[2, 1]], 1, 'push that is not allowed'],
  ['server', [[2, 2]], 1, 'push that is not allowed'],
  ['server', [[4, 2 ** 31]], 3, 'window too large'],
])('given a %s whose peer sets %j, then that is a violation with code %i: %s', (...[role, pairs, code, message]) => {
  expect(() => readSettings(payload(pairs), role)).toThrow(expect.objectContaining({ code, message }));
});

it('given a client, then it allows no push; given a server, then it allows a hundred streams', () => {
  expect(ownSettings('client')).toEqual(payload([[2, 0]]));
  expect(ownSettings('server')).toEqual(payload([[3, 100]]));
});
