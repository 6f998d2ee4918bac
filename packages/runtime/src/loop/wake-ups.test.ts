// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createWakeUps } from './wake-ups.ts';

it('given loops that listen, when a key is woken, then each hears of it and of the time: now, if none is given', () => {
  const wakeUps = createWakeUps();
  const heard: unknown[] = [];
  for (const loop of ['x', 'y']) wakeUps.source((key, when) => heard.push([loop, key, when]));
  wakeUps.wake('a');
  wakeUps.wake('b', 'rateLimited');
  expect(heard).toEqual([
    ['x', 'a', 'now'],
    ['y', 'a', 'now'],
    ['x', 'b', 'rateLimited'],
    ['y', 'b', 'rateLimited'],
  ]);
});
