// SPDX-License-Identifier: Apache-2.0
import { type CsiChannel, CsiError, type ListVolumesResponseInput } from '@csi-sidecars/csi';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { listPublished } from './listed.ts';

const method = '/csi.v1.Controller/ListVolumes';

interface Asked {
  readonly token: string;
  readonly maxEntries: number;
  readonly timeoutMs: number;
}

/** A driver that returns the page of each token after `pageMs`. */
function aDriver(clock: FakeClock, page: (token: string) => ListVolumesResponseInput, pageMs = 0) {
  const asked: Asked[] = [];
  const call = async (_method: string, request: object, options: { timeoutMs: number; signal?: AbortSignal }) => {
    const { starting_token: token = '', max_entries: maxEntries = 0 } = request as Record<string, never>;
    asked.push({ token, maxEntries, timeoutMs: options.timeoutMs });
    await clock.sleep(pageMs, options.signal);
    return page(token);
  };
  return { asked, channel: { call } as unknown as CsiChannel };
}

const volume = (id: string) => ({ volume_id: id });
const options = { maxEntries: 0, timeoutMs: 15_000 };
const { signal } = new AbortController();

describe('what the driver has published', () => {
  it('[attacher#122] given several pages, then the tokens are followed to the end, and each page has its own deadline', async () => {
    const clock = new FakeClock();
    const pages: Record<string, ListVolumesResponseInput> = {
      '': { entries: [{ volume: volume('a'), status: { published_node_ids: ['n1'] } }], next_token: 'p2' },
      p2: { entries: [{ volume: volume('b'), status: { published_node_ids: [] } }], next_token: 'p3' },
      p3: { entries: [{ volume: volume('a'), status: { published_node_ids: ['n2', 'n3'] } }], next_token: '' },
    };
    const { asked, channel } = aDriver(clock, (token) => pages[token]!, 14_000);
    const listed = listPublished({ channel, clock }, { ...options, maxEntries: 7 }, signal);
    await clock.advance(42_000);
    expect(await listed).toEqual(
      new Map([
        ['a', new Set(['n2', 'n3'])],
        ['b', new Set()],
      ]),
    );
    expect(asked).toEqual(['', 'p2', 'p3'].map((token) => ({ token, maxEntries: 7, timeoutMs: 15_000 })));
  });

  it('[attacher#122] given a chain of tokens that never ends, then the deadline of the whole list ends it', async () => {
    const clock = new FakeClock();
    const { asked, channel } = aDriver(clock, (token) => ({ entries: [], next_token: `${token}+` }), 10_000);
    const listed = listPublished({ channel, clock }, options, signal).catch((error: unknown) => String(error));
    await clock.advance(300_000);
    expect(await listed).toBe('DeadlineError: deadline of 300000 ms exceeded');
    expect(asked.length).toBe(30);
  });

  it('[attacher#122] given a driver that returns the token that it was given, then the list fails at once', async () => {
    const clock = new FakeClock();
    const { asked, channel } = aDriver(clock, () => ({ entries: [], next_token: 'again' }));
    const listed = listPublished({ channel, clock }, options, signal).catch((error: unknown) => String(error));
    await clock.advance(1_000);
    expect([await listed, asked.length]).toEqual([
      'Error: ListVolumes answered with the token of the page that it was asked for: again',
      2,
    ]);
  });

  it('[attacher#121] given entries without a volume or without a status, then they are treated as if they were not listed', async () => {
    const clock = new FakeClock();
    const entries = [
      { volume: volume('a'), status: null },
      { volume: null, status: { published_node_ids: ['n1'] } },
      { volume: volume('b'), status: { published_node_ids: ['n1'] } },
    ];
    const { channel } = aDriver(clock, () => ({ entries, next_token: '' }));
    const listed = listPublished({ channel, clock }, options, signal);
    await clock.advance(0);
    expect(await listed).toEqual(new Map([['b', new Set(['n1'])]]));
  });

  it('given a process that stops while a page is in flight, when the page arrives, then no other page is requested', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    let asked = 0;
    const call = async () => {
      asked += 1;
      await clock.sleep(1_000);
      return { entries: [], next_token: 'next' };
    };
    const channel = { call } as unknown as CsiChannel;
    const listed = listPublished({ channel, clock }, options, stop.signal).catch((error: unknown) => String(error));
    await clock.advance(500);
    stop.abort(new Error('stopped'));
    await clock.advance(5_000);
    expect([await listed, asked]).toEqual(['Error: stopped', 1]);
  });

  it('given a page that fails, then the whole list fails', async () => {
    const clock = new FakeClock();
    const { channel } = aDriver(clock, (token) => {
      if (token === '') return { entries: [{ volume: volume('a'), status: {} }], next_token: 'p2' };
      throw new CsiError({ code: 'Internal', method, detail: 'broken' });
    });
    const listed = listPublished({ channel, clock }, options, signal).catch((error: unknown) => String(error));
    await clock.advance(0);
    await clock.advance(0);
    expect(await listed).toContain('rpc error: code = Internal desc = broken');
  });
});
