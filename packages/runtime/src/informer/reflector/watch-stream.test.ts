// SPDX-License-Identifier: Apache-2.0
/** One open watch: its inputs, its guards, and what is left after it. */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../../testing/index.ts';
import type { ApiClient } from '../../api/client.ts';
import type { Input } from './state.ts';
import { openWatch } from './watch-stream.ts';

const event = (object: object, type = 'ADDED'): string => `${JSON.stringify({ type, object })}\n`;
const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'a' } };
const bookmark = event({ ...volume, metadata: { resourceVersion: '9' } }, 'BOOKMARK');
const annotations = { 'k8s.io/initial-events-end': 'true' };
const endOfInitialEvents = event({ ...volume, metadata: { resourceVersion: '9', annotations } }, 'BOOKMARK');

interface Part {
  /** Default: at once. */
  readonly afterMs?: number;
  readonly text: string;
}

/** Sends the parts, and then ends, fails, or stays open. */
async function opened(
  parts: readonly Part[],
  end: 'end' | 'open' | Error = 'open',
  { maxFrameBytes = 1_000, initialEvents = false } = {},
) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const seen: { request?: object; returned: boolean } = { returned: false };
  async function* body(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      for (const { afterMs = 0, text } of parts) {
        if (afterMs > 0) await clock.sleep(afterMs, signal);
        yield Buffer.from(text);
      }
      if (end instanceof Error) throw end;
      if (end === 'open')
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    } finally {
      seen.returned = true;
    }
  }
  const stream: ApiClient['stream'] = async (request, signal) => {
    seen.request = request;
    return { status: 200, headers: {}, body: body(signal) };
  };
  const options = {
    request: { path: '/volumes', accept: 'application/json' },
    timeoutMs: 300_000,
    initialEvents,
    expected: { apiVersion: 'v1', kind: 'PersistentVolume' },
    maxFrameBytes,
  };
  const watch = await openWatch({ client: { stream }, clock }, options, stop.signal);
  const inputs: [unknown, number][] = [];
  /** Reads until the stream ends. */
  const reading = async (): Promise<void> => {
    for (;;) {
      const input = await watch.next();
      inputs.push([brief(input), clock.monotonicMs()]);
      if (input.kind === 'closed' || (input.kind === 'event' && input.event.kind === 'undecodable')) return;
    }
  };
  const leftovers = () => [clock.pending, getEventListeners(stop.signal, 'abort').length];
  return { clock, stop, watch, seen, inputs, reading, leftovers };
}

function brief(input: Input): unknown {
  if (input.kind === 'event') return input.event.kind;
  return input.kind === 'closed' ? [input.cause, input.error] : input.kind;
}

describe('the request', () => {
  it('given a watch, then it is sent as one; after it is closed, no timer and no listener is left', async () => {
    const { watch, seen, leftovers } = await opened([{ text: bookmark }]);
    expect(seen.request).toEqual({ purpose: 'watch', path: '/volumes', accept: 'application/json' });
    await watch.next();
    expect(leftovers()).toEqual([1, 1]);
    await watch.close();
    expect([leftovers(), seen.returned]).toEqual([[0, 0], true]);
  });

  it('given a request that fails, then its error is thrown, and no timer and no listener is left', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const stream = () => Promise.reject(new Error('refused'));
    const options = {
      request: { path: '', accept: '' },
      timeoutMs: 1,
      expected: { apiVersion: '', kind: '' },
      initialEvents: false,
      maxFrameBytes: 1,
    };
    await expect(openWatch({ client: { stream }, clock }, options, stop.signal)).rejects.toThrow('refused');
    expect([clock.pending, getEventListeners(stop.signal, 'abort').length]).toEqual([0, 0]);
  });

  it('given a watch that waits after a bookmark, when it is closed, then its guards are gone as well', async () => {
    const { clock, watch, leftovers } = await opened([{ text: bookmark }]);
    await watch.next();
    const waiting = watch.next();
    await settle();
    expect(clock.pending).toBe(2);
    const closing = watch.close();
    expect(brief(await waiting)).toEqual(['broken', expect.anything()]);
    await closing;
    expect(leftovers()).toEqual([0, 0]);
  });
});

describe('the end of the stream', () => {
  it('given an end between two events, then it is closed as such, and stays so', async () => {
    const { watch, inputs, reading } = await opened([{ text: event(volume) }], 'end');
    await reading();
    expect(inputs.map(([input]) => input)).toEqual(['change', ['end', undefined]]);
    expect([watch.take(), await watch.next()]).toEqual([
      { kind: 'closed', cause: 'end' },
      { kind: 'closed', cause: 'end' },
    ]);
  });

  it('given a last event without its newline, then it counts; given half of one, then the stream was truncated', async () => {
    const whole = await opened([{ text: event(volume).trimEnd() }], 'end');
    await whole.reading();
    expect(whole.inputs.map(([input]) => input)).toEqual(['change', ['end', undefined]]);
    const half = await opened([{ text: event(volume).slice(0, 20) }], 'end');
    await half.reading();
    expect(half.inputs.map(([input]) => input)).toEqual([['truncated', undefined]]);
    expect(half.watch.take()).toEqual({ kind: 'closed', cause: 'truncated' });
  });

  it('given a connection that fails, then the stream is broken, with the error', async () => {
    const error = new Error('reset');
    const { inputs, reading } = await opened([{ text: event(volume) }], error);
    await reading();
    expect(inputs.map(([input]) => input)).toEqual(['change', ['broken', error]]);
  });

  it('given an event that is too long, then it cannot be decoded, now and later', async () => {
    const { watch, inputs, reading } = await opened([{ text: event(volume) }, { text: 'x'.repeat(2_000) }]);
    await reading();
    expect(inputs.map(([input]) => input)).toEqual(['change', 'undecodable']);
    expect(watch.take()).toMatchObject({ kind: 'event', event: { kind: 'undecodable' } });
    await watch.close();
  });
});

it('given a defect of the decoder, then it is thrown, and not taken for an event that cannot be decoded', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    yield undefined as never;
  }
  const stream = async () => ({ status: 200, headers: {}, body: body() });
  const watch = await openWatch(
    { client: { stream }, clock: new FakeClock() },
    {
      request: { path: '', accept: '' },
      timeoutMs: 1,
      initialEvents: false,
      expected: { apiVersion: '', kind: '' },
      maxFrameBytes: 1,
    },
    new AbortController().signal,
  );
  await expect(watch.next()).rejects.toThrow(TypeError);
  await watch.close();
});

describe('guards', () => {
  it('given a stream that is open 30 s longer than asked for, then it is given up', async () => {
    const { clock, inputs, reading, watch, leftovers } = await opened([]);
    const read = reading();
    await clock.advance(329_999);
    expect(inputs).toEqual([]);
    await clock.advance(1);
    await read;
    expect(inputs).toEqual([[['overdue', new Error('watch is overdue')], 330_000]]);
    await watch.close();
    expect(leftovers()).toEqual([0, 0]);
  });

  it.each([
    { given: 'a bookmark and then nothing', parts: [{ text: bookmark }], ms: 150_000 },
    {
      given: 'an event after a bookmark',
      parts: [{ text: bookmark }, { afterMs: 100_000, text: event(volume) }],
      ms: 250_000,
    },
    {
      given: 'an event just after a bookmark',
      parts: [{ text: bookmark }, { afterMs: 1, text: event(volume) }],
      ms: 150_001,
    },
  ])('given $given, then the stream is given up after 150 s of silence, at $ms ms', async ({ parts, ms }) => {
    const { clock, inputs, reading, watch } = await opened(parts);
    const read = reading();
    await clock.advance(ms - 1);
    expect(inputs).toHaveLength(parts.length);
    await clock.advance(1);
    await read;
    expect(inputs.at(-1)).toEqual([['silent', new Error('watch is silent')], ms]);
    await watch.close();
  });

  it.each([
    { given: 'no bookmark', text: event(volume) },
    { given: 'only the bookmark that ends the initial events', text: endOfInitialEvents, initialEvents: true },
  ])('given $given, then silence is no reason to give the stream up', async ({ text, initialEvents }) => {
    const { clock, inputs, reading, watch } = await opened([{ text }], 'open', { initialEvents });
    const read = reading();
    await clock.advance(329_000);
    expect(inputs).toHaveLength(1);
    await watch.close();
    await read;
  });

  it.each([
    { given: 'no event', parts: [], ms: 150_000 },
    { given: 'one event', parts: [{ afterMs: 10, text: event(volume) }], ms: 150_010 },
  ])(
    '[runtime#225] given $given of the initial events and then nothing, then the stream is given up after 150 s of silence',
    async ({ parts, ms }) => {
      const { clock, inputs, reading, watch } = await opened(parts, 'open', { initialEvents: true });
      const read = reading();
      await clock.advance(ms);
      await read;
      expect(inputs.at(-1)).toEqual([['silent', new Error('watch is silent')], ms]);
      await watch.close();
    },
  );

  it('given a stream that is not read for a long time, then that time is no silence: the next wait starts from zero', async () => {
    const { clock, watch } = await opened([{ text: bookmark }, { afterMs: 10, text: event(volume) }]);
    await watch.next();
    const second = watch.next();
    await clock.advance(10);
    expect(brief(await second)).toBe('change');
    await clock.advance(160_000);
    const third = watch.next();
    let ended: Input | undefined;
    void third.then((input) => (ended = input));
    await clock.advance(149_999);
    expect(ended).toBeUndefined();
    await clock.advance(1);
    expect(brief(await third)).toEqual(['silent', expect.anything()]);
    await watch.close();
  });

  it('given many events with a bookmark before them, then one timer guards all waits', async () => {
    const parts = Array.from({ length: 20 }, () => ({ afterMs: 1_000, text: event(volume) }));
    const { clock, reading, watch } = await opened([{ text: bookmark }, ...parts]);
    const read = reading();
    await clock.advance(10_500);
    // The age of the stream, the silence, and the server's next event.
    expect(clock.pending).toBe(3);
    await watch.close();
    await read;
  });
});

it('given initial events, then the progress says whether they have ended, and since when nothing came', async () => {
  const { clock, watch } = await opened([{ text: event(volume) }, { afterMs: 5_000, text: endOfInitialEvents }]);
  await clock.advance(1_000);
  await watch.next();
  const second = watch.next();
  await clock.advance(3_000);
  expect(watch.progress()).toEqual({ initialEventsEnded: false, idleMs: 3_000 });
  await clock.advance(2_000);
  await second;
  expect(watch.progress()).toEqual({ initialEventsEnded: true, idleMs: 5_000 });
  await watch.close();
});
