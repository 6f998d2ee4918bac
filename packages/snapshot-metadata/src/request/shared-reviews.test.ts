// SPDX-License-Identifier: Apache-2.0
import { settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import type { Line } from './lines.ts';
import { createSharedReviews } from './shared-reviews.ts';

function reviews() {
  const shared = createSharedReviews<string>();
  const made: { readonly key: string; readonly signal: AbortSignal; readonly answer: (text: string) => void }[] = [];
  const ask = (key: string, at: string | Line = 'a', stop = new AbortController()) => {
    const line = typeof at === 'string' ? { group: at, name: at } : at;
    return shared.ask({ key, line, signal: stop.signal }, (signal) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      made.push({ key, signal, answer: resolve });
      return promise;
    });
  };
  return { made, ask };
}

it('given two callers that ask the same, then one review is made; given a third after its answer, then another one', async () => {
  const { made, ask } = reviews();
  const both = [ask('k'), ask('k')];
  await settle();
  expect(made).toHaveLength(1);
  made[0]!.answer('yes');
  expect(await Promise.all(both)).toEqual(['yes', 'yes']);
  void ask('k').catch(() => undefined);
  await settle();
  expect(made).toHaveLength(2);
});

it('given two callers of which one goes away, then the review goes on; given that both do, then it is aborted, and the next caller gets one of its own', async () => {
  const { made, ask } = reviews();
  const [first, second] = [new AbortController(), new AbortController()];
  const asking = [ask('k', 'a', first), ask('k', 'a', second)];
  await settle();
  first.abort(new Error('gone'));
  await expect(asking[0]).rejects.toThrow('gone');
  expect(made[0]!.signal.aborted).toBe(false);
  second.abort(new Error('gone, too'));
  await expect(asking[1]).rejects.toThrow('gone, too');
  expect(made[0]!.signal.aborted).toBe(true);
  const third = ask('k');
  await settle();
  made[1]!.answer('yes');
  expect(await third).toBe('yes');
});

it('given a caller that goes away when its review has just been answered, then the next review of the same is still made once', async () => {
  const { made, ask } = reviews();
  const stop = new AbortController();
  const first = ask('k', 'a', stop);
  await settle();
  made[0]!.answer('yes');
  // Its answer is on the way, and the review is forgotten before the caller has it.
  await Promise.resolve();
  await Promise.resolve();
  stop.abort(new Error('gone'));
  const next = ask('k');
  await first.catch(() => undefined);
  await settle();
  const another = ask('k');
  await settle();
  const count = made.length;
  for (const each of made) each.answer('yes');
  expect([await next, await another]).toEqual(['yes', 'yes']);
  expect(count).toBe(2);
});

it('[snapshot-metadata#54] given an address with many reviews that wait, when another address asks, then it gets every second turn', async () => {
  const { made, ask } = reviews();
  for (let index = 0; index < 10; index += 1) void ask(`bad-${index}`, 'bad');
  await settle();
  expect(made).toHaveLength(4);
  void ask('good-1', 'good');
  void ask('good-2', 'good');
  for (let turn = 0; turn < 4; turn += 1) {
    made[turn]!.answer('no');
    await settle();
  }
  expect(made.slice(4).map(({ key }) => key)).toEqual(['bad-4', 'good-1', 'bad-5', 'good-2']);
});

it('[snapshot-metadata#54] given a connection with many reviews that wait, when another one of the same address asks, then it gets every second turn', async () => {
  const { made, ask } = reviews();
  const at = (key: string, name: string) => ask(key, { group: 'a', name });
  for (let index = 0; index < 10; index += 1) void at(`bad-${index}`, 'a:1');
  await settle();
  void at('good-1', 'a:2');
  void at('good-2', 'a:2');
  for (let turn = 0; turn < 4; turn += 1) {
    made[turn]!.answer('no');
    await settle();
  }
  expect(made.slice(4).map(({ key }) => key)).toEqual(['bad-4', 'good-1', 'bad-5', 'good-2']);
});

it('[snapshot-metadata#54] given connections that have had turns, when others of the same address ask, then they come first, but for every eighth turn', async () => {
  const { made, ask } = reviews();
  const answered = async (turns: number): Promise<readonly string[]> => {
    const from = made.length;
    for (let turn = 0; turn < turns; turn += 1) {
      made[from - 4 + turn]!.answer('no');
      await settle();
    }
    return made.slice(from).map(({ key }) => key);
  };
  for (let index = 0; index < 30; index += 1) void ask(`bad-${index}`, { group: 'a', name: `a:${index % 2}` });
  await settle();
  expect(await answered(4)).toEqual(['bad-4', 'bad-5', 'bad-6', 'bad-7']);
  for (let index = 0; index < 9; index += 1) void ask(`new-${index}`, { group: 'a', name: `a:${index + 10}` });
  const first = Array.from({ length: 7 }, (_, index) => `new-${index}`);
  expect(await answered(12)).toEqual([...first, 'bad-8', 'new-7', 'new-8', 'bad-9', 'bad-10']);
});

it('given a review that waits for its turn, when its caller goes away, then it is never made', async () => {
  const { made, ask } = reviews();
  for (let index = 0; index < 4; index += 1) void ask(`k-${index}`);
  const stop = new AbortController();
  const waiting = ask('waits', 'b', stop);
  await settle();
  stop.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  for (const each of made.slice()) each.answer('yes');
  await settle();
  expect(made.map(({ key }) => key)).not.toContain('waits');
  const next = ask('next');
  await settle();
  made.at(-1)!.answer('yes');
  expect(await next).toBe('yes');
});
