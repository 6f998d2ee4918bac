// SPDX-License-Identifier: Apache-2.0
/** What a story asks of its author, and gives to the author's functions. */
import { describe, expect, it } from 'vitest';
import { persistentVolumes } from '../../src/api/resource.ts';
import { playStories, type Stories } from './index.ts';
import { storiesOf } from './owners-fixture.ts';
import { play } from './play.ts';

const startMs = Date.UTC(2026, 0, 1);
const once = (acts: Stories['acts'], more: Partial<Stories> = {}) =>
  play({ seed: 1, steps: [{ atMs: 60_000, what: 'an act', seed: 1 }] }, storiesOf({}, { acts, ...more }));
const failing = { finally: () => expect.fail('the end') };

it('given an act, and what must hold, then they get the time of the story', async () => {
  const times = { act: 0, always: new Set<number>(), finally: new Set<number>() };
  const acts: Stories['acts'] = {
    'an act': (objects, _dice, { nowMs }) => {
      times.act = nowMs - startMs;
      const { metadata } = objects.change(persistentVolumes, { name: 'a' }, (object) => object);
      expect(metadata?.creationTimestamp).toBe(new Date(startMs).toISOString().replace('.000', ''));
    },
  };
  const failure = await once(acts, {
    always: (_, { nowMs }) => void times.always.add(nowMs - startMs),
    finally: (_, { nowMs }) => void times.finally.add(nowMs - startMs),
  });
  expect(failure).toBeUndefined();
  expect([times.act, times.always.has(60_000), [...times.finally]]).toEqual([60_000, true, [900_000, 1_500_000]]);
});

it('given an act that returns a text, then its line ends with that, and with nothing for any other value', async () => {
  const lineOf = async (act: Stories['acts'][string]): Promise<string | undefined> => {
    const failure = await once({ 'an act': act }, failing);
    return failure?.timeLine.split('\n').find((line) => line.includes('an act'));
  };
  expect(await lineOf(() => 'default/b to 3')).toMatch(/ an act: default\/b to 3$/);
  expect(await lineOf((objects) => objects.list(persistentVolumes))).toMatch(/ an act$/);
  expect(await lineOf(() => expect.fail('no such object'))).toMatch(/ an act$/);
});

describe.each([
  ['the act `an act`', (wait: () => unknown): Promise<unknown> => once({ 'an act': wait })],
  ['`always`', (wait: () => unknown): Promise<unknown> => once({ 'an act': touch }, { always: wait })],
  ['`finally`', (wait: () => unknown): Promise<unknown> => once({ 'an act': touch }, { finally: wait })],
])('%s', (what, played) => {
  it('given that it returns a promise, then the story fails and says that it is not waited for, also where the promise rejects', async () => {
    const message = `${what} returns a promise, and a story waits for none`;
    expect(await played(() => Promise.resolve())).toMatchObject({ error: { message } });
    expect(await played(() => Promise.reject(new Error('not seen')))).toMatchObject({ error: { message } });
  });
});

const touch: Stories['acts'][string] = (objects) =>
  objects.change(persistentVolumes, { name: 'a' }, (object) => ({ ...object, spec: { capacity: { storage: '1Gi' } } }));

it('given a controller that writes when nothing happens, and stories that say so, then no story fails', async () => {
  await expect(playStories(storiesOf({ always: true }, { writesAtRest: true }), { count: 2 })).resolves.toBeUndefined();
}, 120_000);

it.each([
  ['a count of 0', { count: 0 }, 'count is 0: no story would be played'],
  ['a count that is no number', { count: NaN }, 'count is NaN: no story would be played'],
])('given %s, then no story is played, and the error says why', async (_, range, message) => {
  await expect(playStories(storiesOf({}), range)).rejects.toThrow(new Error(message));
});

it('given stories without acts, then none is played, and the error says why', async () => {
  const message = 'acts is empty: in a story something has to happen';
  await expect(playStories(storiesOf({}, { acts: {} }), { count: 1 })).rejects.toThrow(new Error(message));
});
