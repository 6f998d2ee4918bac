// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createTrigger } from './trigger.ts';

it('given loops that listen, when a key is woken, then each hears of it and of the time: now, if none is given', () => {
  const trigger = createTrigger();
  const heard: unknown[] = [];
  for (const loop of ['x', 'y']) trigger.source((key, when) => heard.push([loop, key, when]));
  trigger.wake('a');
  trigger.wake('b', 'rateLimited');
  expect(heard).toEqual([
    ['x', 'a', 'now'],
    ['y', 'a', 'now'],
    ['x', 'b', 'rateLimited'],
    ['y', 'b', 'rateLimited'],
  ]);
});
