// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { CsiError } from '../csi-error.ts';
import { type ListedPage, type ListEnd, listPages } from './list-pages.ts';

const aborted = new CsiError({ code: 'Aborted', method: 'ListVolumes', detail: 'the token has expired' });
const internal = new CsiError({ code: 'Internal', method: 'ListVolumes', detail: 'broken' });

interface Listed {
  readonly end: ListEnd;
  readonly taken: readonly unknown[];
  readonly tokens: readonly string[];
}

async function listed(
  page: (token: string, request: number) => ListedPage,
  signal = new AbortController().signal,
): Promise<Listed> {
  const tokens: string[] = [];
  let taken: unknown[] = [];
  const end = await listPages(
    async (token) => {
      tokens.push(token);
      if (tokens.length > 40_000) throw new Error('the list does not end');
      return page(token, tokens.length);
    },
    { begin: () => (taken = []), take: ({ entries }) => taken.push(...entries), signal },
  );
  return { end, taken, tokens };
}

/** Pages of one entry each, whose tokens count. */
const counting =
  (last: number) =>
  (token: string): ListedPage => {
    const at = Number(token || '0');
    return { entries: [at], next_token: at === last ? '' : String(at + 1) };
  };

it('[explain#116] given three pages, then their entries are taken in order', async () => {
  expect(await listed(counting(2))).toEqual({
    end: { kind: 'complete', pages: 3 },
    taken: [0, 1, 2],
    tokens: ['', '1', '2'],
  });
});

it('[explain#116] given a token that expires on page 3, when the list begins again, then nothing is taken twice', async () => {
  const { end, taken, tokens } = await listed((token, request) => {
    if (request === 3) throw aborted;
    return counting(2)(token);
  });
  expect([end, taken]).toEqual([{ kind: 'complete', pages: 3 }, [0, 1, 2]]);
  expect(tokens).toEqual(['', '1', '2', '', '1', '2']);
});

it('[explain#116] given a token that expires again and again, then the list starts three times, and is incomplete', async () => {
  const { end, tokens } = await listed((token) => {
    if (token === '1') throw aborted;
    return counting(2)(token);
  });
  expect(tokens).toEqual(['', '1', '', '1', '', '1']);
  expect(end).toEqual({ kind: 'incomplete', pages: 1, because: 'its token expired in each of 3 starts' });
});

it.each([
  ['that repeats at once', (): ListedPage => ({ entries: [1], next_token: 'again' }), 2],
  [
    'that repeats after another',
    (token: string): ListedPage => ({ entries: [1], next_token: token === 'a' ? 'b' : 'a' }),
    3,
  ],
])('[explain#116] given a token %s, then the list is incomplete', async (_, page, requests) => {
  const { end, tokens } = await listed(page);
  expect(end).toMatchObject({ kind: 'incomplete', because: 'a token of a next page came twice' });
  expect(tokens.length).toBe(requests);
});

it('[explain#116] given a page without entries and with a token, then the next page is requested, up to 100 times', async () => {
  const some = await listed((token) => ({
    entries: token === '98' ? [1] : [],
    next_token: token === '98' ? '' : String(Number(token) + 1),
  }));
  expect([some.end, some.taken]).toEqual([{ kind: 'complete', pages: 99 }, [1]]);
  const endless = await listed((token) => ({ entries: [], next_token: `${token}+` }));
  expect(endless.end).toMatchObject({ kind: 'incomplete', because: '100 of its pages have no entries' });
  expect(endless.tokens.length).toBe(100);
});

it('[explain#116] given more than 10,000 pages, then the list is incomplete', async () => {
  const { end, tokens } = await listed(counting(20_000));
  expect(end).toEqual({ kind: 'incomplete', pages: 10_000, because: 'it has more than 10000 pages' });
  expect(tokens.length).toBe(10_000);
});

it('given a first page that fails, then the failure is thrown; given a later one, then the list is incomplete', async () => {
  await expect(
    listed(() => {
      throw internal;
    }),
  ).rejects.toBe(internal);
  const { end, taken } = await listed((token) => {
    if (token === '1') throw internal;
    return counting(2)(token);
  });
  expect(taken).toEqual([0]);
  expect(end).toEqual({
    kind: 'incomplete',
    pages: 1,
    because: 'page 2 failed: rpc error: code = Internal desc = broken',
  });
});

it('given a signal that aborts between two pages, then its reason is thrown', async () => {
  const stop = new AbortController();
  const reason = new Error('stopped');
  const running = listed((token) => {
    stop.abort(reason);
    return counting(5)(token);
  }, stop.signal);
  await expect(running).rejects.toBe(reason);
});
