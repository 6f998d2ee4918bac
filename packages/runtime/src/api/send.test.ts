// SPDX-License-Identifier: Apache-2.0
/** Retries, deadlines, cancellation and throttling of calls, through the client. */
import { randomBytes } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  FakeClock,
  recordingLogger,
  recordingMetrics,
  scriptedTransport,
  settle,
  type ScriptedStep,
} from '../../testing/index.ts';
import { withDeadline } from '../clock/deadline.ts';
import { createApiClient } from './create-client.ts';
import { isTooManyRequests } from './error-predicates.ts';
import { createRequestMetrics } from './request-metrics.ts';
import type { RateLimit } from './request-limiter.ts';
import { persistentVolumes } from './resource.ts';
import { abortError, type Transport, TransportError, type TransportResponse } from './transport.ts';

const unlimited: RateLimit = { qps: -1, burst: 0 };
const volume = { body: { metadata: { name: 'a', resourceVersion: '1' } } };
const failed = (failure: TransportError['failure']): TransportError => new TransportError(failure, `${failure}!`);
const tooMany = (retryAfter?: string): ScriptedStep => ({
  status: 429,
  headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  body: { kind: 'Status', status: 'Failure', reason: 'TooManyRequests', message: 'slow down', code: 429 },
});

const setUp = (steps: readonly [ScriptedStep, ...ScriptedStep[]], limit: RateLimit = unlimited) => {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const script = scriptedTransport(...steps);
  const sentAt: number[] = [];
  const transport: Transport = (request) => {
    sentAt.push(Math.round(clock.monotonicMs()));
    return script.transport(request);
  };
  const client = createApiClient({ transport, clock, logger }, { userAgent: 'test', ...limit });
  /** Runs the call for an hour of virtual time at most; its result or its error. */
  const outcomeOf = async (call: Promise<unknown>): Promise<unknown> => {
    let outcome: unknown = 'pending';
    call.then(
      (value) => (outcome = value),
      (error: unknown) => (outcome = error),
    );
    await clock.advance(3_600_000);
    return outcome;
  };
  return { clock, logger, client, sentAt, outcomeOf, ...script };
};
const name = { name: 'a' };

async function* stalledBody(clock: FakeClock, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  await clock.sleep(Infinity, signal).catch(() => Promise.reject(abortError(signal)));
  yield Buffer.from('late');
}

describe('retries of answers', () => {
  it('[runtime#33] given 429 with Retry-After: 2, then the second attempt comes 2 s later and through the limiter', async () => {
    const { client, sentAt, outcomeOf, clock } = setUp([tooMany('2'), volume], { qps: 0.1, burst: 1 });
    expect(await outcomeOf(client.get(persistentVolumes, name))).toMatchObject({ metadata: { name: 'a' } });
    expect(sentAt).toEqual([0, 10_000]);
    expect(clock.pending).toBe(0);
  });

  it('[runtime#33] given 429 with Retry-After: 2 and tokens left, then the second attempt comes after 2 s', async () => {
    const { client, sentAt, outcomeOf } = setUp([tooMany('2'), volume]);
    await outcomeOf(client.get(persistentVolumes, name));
    expect(sentAt).toEqual([0, 2000]);
  });

  it('[runtime#34] given 429 without Retry-After, then it is an error at once', async () => {
    const { client, sentAt, outcomeOf } = setUp([tooMany(), volume]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toSatisfy(isTooManyRequests);
    expect(sentAt).toEqual([0]);
  });

  it('[runtime#35] given 429 with a date as Retry-After, then it is an error at once', async () => {
    const { client, sentAt, outcomeOf } = setUp([tooMany('Wed, 21 Oct 2026 07:28:00 GMT'), volume]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toSatisfy(isTooManyRequests);
    expect(sentAt).toEqual([0]);
  });

  it('[runtime#36] given 429 with Retry-After: 0, then it is repeated at the pace of the limiter, ten times at most', async () => {
    const { client, sentAt, outcomeOf } = setUp([tooMany('0')], { qps: 1, burst: 1 });
    expect(await outcomeOf(client.get(persistentVolumes, name))).toSatisfy(isTooManyRequests);
    expect(sentAt).toEqual(Array.from({ length: 11 }, (_, n) => n * 1000));
  });

  it('[runtime#37] given 500 with Retry-After on a POST, then the same bytes are sent again', async () => {
    const { client, requests, outcomeOf } = setUp([
      { status: 500, headers: { 'retry-after': '1' } },
      { status: 409, body: { kind: 'Status', status: 'Failure', reason: 'AlreadyExists', message: 'exists' } },
    ]);
    const created = client.create(persistentVolumes, { metadata: { name: 'a' } });
    expect(await outcomeOf(created)).toMatchObject({ reason: 'AlreadyExists', status: 409 });
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(requests[1]).toEqual(requests[0]);
  });

  it('[runtime#38] given eleven times 429 with Retry-After, then the eleventh is the error', async () => {
    const { client, sentAt, outcomeOf, openBodies } = setUp([tooMany('1')]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toMatchObject({ reason: 'TooManyRequests' });
    expect(sentAt).toHaveLength(11);
    expect(openBodies()).toBe(0);
  });

  it('[runtime#38a] given a Retry-After of a day, then a watch is sent again after the silence after which an open one is given up', async () => {
    const { client, sentAt, clock } = setUp([tooMany('86400'), {}]);
    const opened = client.stream({ purpose: 'watch', path: '/w' }, new AbortController().signal);
    await clock.advance(149_999);
    expect(sentAt).toEqual([0]);
    await clock.advance(1);
    expect(sentAt).toEqual([0, 150_000]);
    expect(await opened).toMatchObject({ status: 200 });
  });

  it('[runtime#38a] given a Retry-After of a day, then a list that is read while it arrives is sent again after 5 min', async () => {
    const { client, sentAt, clock } = setUp([tooMany('86400'), {}]);
    const opened = client.stream({ purpose: 'list', path: '/l' }, new AbortController().signal);
    await clock.advance(299_999);
    expect(sentAt).toEqual([0]);
    await clock.advance(1);
    expect(sentAt).toEqual([0, 300_000]);
    expect(await opened).toMatchObject({ status: 200 });
  });

  it('given a Retry-After beyond the deadline, then the wait ends with the deadline and the answer is the error', async () => {
    const { client, sentAt, clock } = setUp([tooMany('3600')]);
    const call = client.get(persistentVolumes, name, { timeoutMs: 5000 }).catch((error: unknown) => error);
    await clock.advance(5000);
    expect(await call).toSatisfy(isTooManyRequests);
    expect(sentAt).toEqual([0]);
  });
});

describe('retries of broken exchanges', () => {
  it('[runtime#7] given a reset after a POST was sent, then the caller gets the error', async () => {
    const { client, sentAt, outcomeOf } = setUp([failed('reset'), volume]);
    const outcome = await outcomeOf(client.create(persistentVolumes, { metadata: { name: 'a' } }));
    expect(outcome).toEqual(failed('reset'));
    expect(sentAt).toEqual([0]);
  });

  it('[runtime#8] given resets of a GET, then it is repeated every second, ten times at most', async () => {
    const { client, sentAt, outcomeOf } = setUp([failed('reset')]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toEqual(failed('reset'));
    expect(sentAt).toEqual(Array.from({ length: 11 }, (_, n) => n * 1000));
  });

  it('[runtime#8] given a GET whose answer breaks off, then it is repeated', async () => {
    const { client, sentAt, outcomeOf } = setUp([{ ...volume, broken: failed('eof') }, volume]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toMatchObject({ kind: 'PersistentVolume' });
    expect(sentAt).toEqual([0, 1000]);
  });

  it('[runtime#5] given a POST that the server did not process, then it is repeated at once, past the limiter', async () => {
    const { client, sentAt, requests, outcomeOf } = setUp([failed('unprocessed'), volume], { qps: 0.001, burst: 1 });
    await outcomeOf(client.create(persistentVolumes, { metadata: { name: 'a' } }));
    expect(sentAt).toEqual([0, 0]);
    expect(requests[1]).toEqual(requests[0]);
  });

  it('[runtime#39] given a refused connection, then there is no retry', async () => {
    const { client, sentAt, outcomeOf } = setUp([failed('refused'), volume]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toEqual(failed('refused'));
    expect(sentAt).toEqual([0]);
  });

  it('[runtime#8] given an error whose text breaks off, then a read is repeated, a list that is read while it arrives too', async () => {
    const refusal = { status: 500, broken: failed('eof') };
    const { client, sentAt, outcomeOf } = setUp([refusal, volume, refusal, volume]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toMatchObject({ kind: 'PersistentVolume' });
    const opened = client.stream({ purpose: 'list', path: '/l' }, new AbortController().signal);
    expect(await outcomeOf(opened)).toMatchObject({ status: 200 });
    expect(sentAt).toEqual([0, 1000, 3_600_000, 3_601_000]);
  });

  it('given another error after a retry, then its message contains the previous one', async () => {
    const { client, outcomeOf } = setUp([failed('reset'), failed('refused')]);
    expect(await outcomeOf(client.get(persistentVolumes, name))).toMatchObject({
      failure: 'refused',
      message: 'refused! - error from a previous attempt: reset!',
    });
  });
});

describe('deadlines and cancellation', () => {
  it('[runtime#11] given an answer that stalls, then the call fails after 70 s and the stream is reset', async () => {
    const { client, clock } = setUp(['hang']);
    const call = client.get(persistentVolumes, name).catch((error: unknown) => error);
    await clock.advance(69_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await call).toMatchObject({ failure: 'timeout', message: 'deadline of 70000 ms exceeded' });
    expect(clock.pending).toBe(0);
  });

  it('given an error whose text stalls, then the call fails after 70 s', async () => {
    const clock = new FakeClock();
    const stalled = (signal: AbortSignal) => ({ status: 500, headers: {}, body: stalledBody(clock, signal) });
    const transport: Transport = async ({ signal }) => stalled(signal);
    const client = createApiClient({ transport, clock, logger: recordingLogger() }, { userAgent: '', ...unlimited });
    const call = client.get(persistentVolumes, name).catch((error: unknown) => error);
    await clock.advance(70_000);
    expect(await call).toMatchObject({ message: 'deadline of 70000 ms exceeded' });
  });

  it('given a list, then it has 120 s', async () => {
    const { client, clock } = setUp(['hang']);
    const call = client.list(persistentVolumes).catch((error: unknown) => error);
    await clock.advance(120_000);
    expect(await call).toMatchObject({ failure: 'timeout', message: 'deadline of 120000 ms exceeded' });
    const short = client.list(persistentVolumes, {}, { timeoutMs: 5 }).catch((error: unknown) => error);
    await clock.advance(5);
    expect(await short).toMatchObject({ message: 'deadline of 5 ms exceeded' });
  });

  it('given calls of low priority before others in the queue, then the others are sent first', async () => {
    const { client, clock, requests } = setUp([volume], { qps: 1, burst: 1 });
    const get = (of: string, priority?: 'low') =>
      client.get(persistentVolumes, { name: of }, { ...(priority && { priority }) });
    const calls = Promise.all([get('first'), get('low', 'low'), get('normal')]);
    await clock.advance(5000);
    await calls;
    expect(requests.map(({ path }) => path.split('/').at(-1))).toEqual(['first', 'normal', 'low']);
  });

  it('given a long wait for the limiter, then it does not count against the deadline', async () => {
    const { client, sentAt, outcomeOf } = setUp([volume], { qps: 0.01, burst: 1 });
    await outcomeOf(client.get(persistentVolumes, name));
    await outcomeOf(client.get(persistentVolumes, name));
    const calls = Promise.all([1, 2].map(() => client.get(persistentVolumes, name)));
    expect(await outcomeOf(calls)).toHaveLength(2);
    expect(sentAt.at(-1)).toBeGreaterThan(70_000);
  });

  it('[runtime#31] given a caller with a deadline shorter than the queue, then its call fails at once', async () => {
    const { client, clock, sentAt } = setUp([volume], { qps: 0.25, burst: 1 });
    await client.get(persistentVolumes, name);
    const call = withDeadline(clock, { ms: 1000 }, (signal) => client.get(persistentVolumes, name, { signal }));
    await expect(call).rejects.toThrow('rate: Wait(n=1) would exceed context deadline');
    expect([clock.monotonicMs(), sentAt]).toEqual([0, [0]]);
  });

  it('given a caller that cancels during a pause between attempts, then the call ends at once', async () => {
    const { client, clock, sentAt } = setUp([tooMany('60')]);
    const stop = new AbortController();
    const call = client.get(persistentVolumes, name, { signal: stop.signal }).catch((error: unknown) => error);
    await settle();
    stop.abort('stop');
    expect(await call).toMatchObject({ failure: 'aborted', cause: 'stop' });
    expect([clock.pending, sentAt]).toEqual([0, [0]]);
  });

  it('given thousands of calls and streams on one signal, then none leaves a listener on it', async () => {
    const { client } = setUp([volume]);
    const stop = new AbortController();
    for (let n = 0; n < 1000; n += 1) await client.get(persistentVolumes, name, { signal: stop.signal });
    for (let n = 0; n < 100; n += 1) {
      const { body } = await client.stream({ purpose: n % 2 === 0 ? 'list' : 'watch', path: '/x' }, stop.signal);
      if (n % 4 < 2) await body[Symbol.asyncIterator]().return?.();
      else for await (const _ of body);
    }
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });
});

describe('streams', () => {
  const never = new AbortController().signal;

  it('[runtime#43] given an empty bucket, then a watch opens at once, and waits only when it is retried', async () => {
    const { client, clock, sentAt, outcomeOf } = setUp([volume, failed('reset'), volume], { qps: 0.1, burst: 1 });
    await client.get(persistentVolumes, name);
    const watch = client.stream({ purpose: 'watch', path: '/w' }, never);
    await settle();
    expect(sentAt).toEqual([0, 0]);
    expect(await outcomeOf(watch)).toMatchObject({ status: 200 });
    expect(sentAt).toEqual([0, 0, 10_000]);
    expect(clock.pending).toBe(0);
  });

  it('given a list stream, then it passes the limiter and its deadline covers the body', async () => {
    const { client, clock, sentAt } = setUp([volume], { qps: 1, burst: 1 });
    await client.get(persistentVolumes, name);
    const opened = client.stream({ purpose: 'list', path: '/l' }, never);
    await clock.advance(1000);
    const { body } = await opened;
    expect([sentAt, clock.pending]).toEqual([[0, 1000], 1]);
    for await (const _ of body);
    expect(clock.pending).toBe(0);
  });

  describe('[runtime#189] a list that arrives slowly', () => {
    /** Chunks this far apart; each is read this long after it came. */
    async function slowList(options: {
      readonly everyMs: number;
      readonly chunks: number;
      readonly readerMs?: number;
    }) {
      const clock = new FakeClock();
      let ended: string | undefined;
      const client = createApiClient(
        {
          clock,
          logger: recordingLogger(),
          transport: async ({ signal }) => ({
            status: 200,
            headers: { 'content-type': 'application/json' },
            body: (async function* () {
              for (let n = 0; n < options.chunks; n += 1) {
                await clock.sleep(options.everyMs, signal);
                yield Buffer.from('x');
              }
            })(),
          }),
        },
        { userAgent: 'test', qps: -1, burst: 0 },
      );
      const reading = (async () => {
        const { body } = await client.stream({ purpose: 'list', path: '/l' }, never);
        for await (const _ of body) await clock.sleep(options.readerMs ?? 0);
        ended = `complete@${clock.monotonicMs()}`;
      })().catch((error: unknown) => {
        ended = `${(error as Error).message}@${clock.monotonicMs()}`;
      });
      await clock.advance(3_600_000);
      await reading;
      return { ended, pending: clock.pending };
    }

    it.each([
      { given: 'chunks 119 s apart for 20 min', everyMs: 119_000, chunks: 10, ended: 'complete@1190000' },
      {
        given: 'a chunk that takes 121 s',
        everyMs: 121_000,
        chunks: 1,
        ended: 'deadline of 120000 ms exceeded@120000',
      },
      {
        given: 'chunks without an end',
        everyMs: 100_000,
        chunks: 99,
        ended: 'deadline of 1800000 ms exceeded@1800000',
      },
      {
        given: 'a reader that takes 200 s each',
        everyMs: 1000,
        chunks: 3,
        readerMs: 200_000,
        ended: 'complete@603000',
      },
    ])('[runtime#189] given $given, then $ended', async ({ ended, ...options }) => {
      expect(await slowList(options)).toEqual({ ended, pending: 0 });
    });
  });

  const textOf = async ({ body }: TransportResponse): Promise<string> => {
    let text = '';
    for await (const chunk of body) text += Buffer.from(chunk).toString();
    return text;
  };

  it('given an open watch, then it has no deadline, and after its end nothing listens to the signal', async () => {
    const { client, clock } = setUp([volume]);
    const { signal } = new AbortController();
    const watch = await client.stream({ purpose: 'watch', path: '/w' }, signal);
    expect(clock.pending).toBe(0);
    await textOf(watch);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it.each<[string, ScriptedStep, object]>([
    ['is refused', { status: 403 }, { status: 403 }],
    ['breaks off', { broken: failed('tls') }, { failure: 'tls' }],
    ['is cancelled', 'hang', { failure: 'aborted', cause: 'stop' }],
  ])('given a list stream that %s, then it fails, and no timer and no listener is left', async (_what, step, error) => {
    const { client, clock } = setUp([step]);
    const stop = new AbortController();
    const read = client.stream({ purpose: 'list', path: '/l' }, stop.signal).then(textOf);
    const failure = read.catch((thrown: unknown) => thrown);
    await settle();
    stop.abort('stop');
    expect(await failure).toMatchObject(error);
    expect([clock.pending, getEventListeners(stop.signal, 'abort')]).toEqual([0, []]);
  });

  it('given a list stream without an answer, then it fails after 120 s', async () => {
    const { client, clock } = setUp(['hang']);
    const opened = client.stream({ purpose: 'list', path: '/l' }, never).catch((error: unknown) => error);
    await clock.advance(120_000);
    expect(await opened).toMatchObject({ message: 'deadline of 120000 ms exceeded' });
    expect(clock.pending).toBe(0);
  });

  it('[runtime#225] given a watch without an answer, then it is sent again after 120 s', async () => {
    const { client, clock, sentAt } = setUp(['hang', {}]);
    const opened = client.stream({ purpose: 'watch', path: '/w' }, never);
    await clock.advance(121_000);
    expect([sentAt, (await opened).status]).toEqual([[0, 121_000], 200]);
    expect(clock.pending).toBe(0);
  });

  it('given a list stream that is given up, then the stream below it ends, and its failure to end is thrown', async () => {
    const { client, clock, openBodies, transport } = setUp([volume]);
    const { body } = await client.stream({ purpose: 'list', path: '/l' }, never);
    const left = await body[Symbol.asyncIterator]().return?.();
    expect([left, openBodies(), clock.pending]).toStrictEqual([{ done: true, value: undefined }, 0, 0]);
    const endings = [undefined, () => Promise.reject(failed('reset'))].map(async (end) => {
      const unending = {
        [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined), return: end }),
      };
      const bodies: Transport = async (request) => ({ ...(await transport(request)), body: unending as never });
      const other = createApiClient(
        { transport: bodies, clock, logger: recordingLogger() },
        { userAgent: '', ...unlimited },
      );
      const opened = await other.stream({ purpose: 'list', path: '/l' }, never);
      return await opened.body[Symbol.asyncIterator]().return?.();
    });
    expect(await Promise.allSettled(endings)).toMatchObject([{ value: { done: true } }, { reason: failed('reset') }]);
    expect(clock.pending).toBe(0);
  });

  it('given an answer without a media type, then it is accepted', async () => {
    const { client } = setUp([{ headers: { 'content-type': undefined }, body: 'x' }]);
    expect(await textOf(await client.stream({ purpose: 'watch', path: '/w' }, never))).toBe('x');
  });

  it('[runtime#28] given a stream of another media type than asked for, then it is an error', async () => {
    const { client, openBodies } = setUp([{ headers: { 'content-type': 'text/html' }, body: '<html>' }]);
    const opened = client.stream({ purpose: 'watch', path: '/w?watch=true' }, never);
    await expect(opened).rejects.toThrow('GET /w with an unexpected media type: HTTP 200, text/html');
    expect(openBodies()).toBe(0);
  });

  it('given the media types that were asked for, with parameters, then they are accepted', async () => {
    const { client, requests } = setUp([{ headers: { 'content-type': 'application/json;stream=watch' } }]);
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
    const { status } = await client.stream({ purpose: 'watch', path: '/w', accept }, never);
    expect([status, requests[0]?.headers['accept']]).toEqual([200, accept]);
  });

  it('given a gzip body of several members although none was asked for, then it arrives decoded', async () => {
    const members = ['{"a":1}\n', '{"a":2}\n'].map((text) => gzipSync(text));
    const { client, openBodies } = setUp([{ headers: { 'content-encoding': 'gzip' }, body: members }]);
    const { body } = await client.stream({ purpose: 'watch', path: '/w' }, never);
    let text = '';
    for await (const chunk of body) text += Buffer.from(chunk).toString();
    expect([text, openBodies()]).toEqual(['{"a":1}\n{"a":2}\n', 0]);
  });

  it('given a gzip body that is damaged, then that is a broken exchange', async () => {
    const { client } = setUp([{ headers: { 'content-encoding': 'gzip' }, body: 'plain' }]);
    const { body } = await client.stream({ purpose: 'watch', path: '/w' }, never);
    const broken = body[Symbol.asyncIterator]().next();
    await expect(broken).rejects.toMatchObject({
      failure: 'eof',
      message: 'corrupt gzip body',
      cause: { code: 'Z_DATA_ERROR' },
    });
  });

  it('given a gzip body that breaks off, then the error is that of the exchange', async () => {
    const step = {
      headers: { 'content-encoding': 'gzip' },
      body: [gzipSync('x').subarray(0, 15)],
      broken: failed('reset'),
    };
    const { body } = await setUp([step]).client.stream({ purpose: 'watch', path: '/w' }, never);
    await expect(body[Symbol.asyncIterator]().next()).rejects.toEqual(failed('reset'));
  });

  it('given a long gzip body that is given up, then the stream below it ends', async () => {
    const bytes = gzipSync(randomBytes(1_000_000));
    const chunks = Array.from({ length: 100 }, (_, n) => bytes.subarray(n * 10_010, (n + 1) * 10_010));
    const { client, openBodies } = setUp([{ headers: { 'content-encoding': 'gzip' }, body: chunks }]);
    const { body } = await client.stream({ purpose: 'watch', path: '/w' }, never);
    await body[Symbol.asyncIterator]().next();
    expect(openBodies()).toBe(1);
    for await (const _ of body) break;
    await settle();
    expect(openBodies()).toBe(0);
  });
});

describe('what is measured', () => {
  it('given answers, broken exchanges, retries and waits, then they are counted under the names of Kubernetes', async () => {
    const clock = new FakeClock();
    const metrics = recordingMetrics();
    const { transport } = scriptedTransport(tooMany('2'), failed('reset'), volume, failed('refused'));
    const client = createApiClient(
      { transport, clock, logger: recordingLogger(), metrics: createRequestMetrics(metrics, 'api:443') },
      { userAgent: 'test', qps: 0.25, burst: 1 },
    );
    const read = client.get(persistentVolumes, name);
    await clock.advance(60_000);
    await read;
    await expect(client.delete(persistentVolumes, name)).rejects.toThrow('refused!');
    const host = 'api:443';
    const requests = ['429', '<error>', '200'].map((code) =>
      metrics.value('rest_client_requests_total', { code, method: 'GET', host }),
    );
    expect(requests).toEqual([1, 1, 1]);
    expect(metrics.value('rest_client_requests_total', { code: '<error>', method: 'DELETE', host })).toBe(1);
    const retries = ['429', '<error>'].map((code) =>
      metrics.value('rest_client_request_retries_total', { code, verb: 'GET', host }),
    );
    expect(retries).toEqual([1, 1]);
    expect(metrics.observations('rest_client_rate_limiter_duration_seconds', { verb: 'GET', host })).toEqual([0, 2, 3]);
    expect(metrics.observations('rest_client_request_duration_seconds', { verb: 'GET', host })).toEqual([0, 0, 0]);
  });
});

describe('what is logged', () => {
  it('given a warning of the server, then it is logged', async () => {
    const { client, logger } = setUp([{ ...volume, headers: { warning: '299 - "v1 is old"' } }]);
    await client.get(persistentVolumes, name);
    expect(logger.messages()).toEqual(['Warning: v1 is old']);
  });

  it('given waits for the limiter, then short ones are not logged, and very long ones are logged at a lower level from time to time', async () => {
    const { client, logger, outcomeOf } = setUp([volume], { qps: 1, burst: 1 });
    await outcomeOf(Promise.all([1, 2, 3, 4].map(() => client.get(persistentVolumes, name))));
    const waits = logger.lines.map((line) => (line.kind === 'info' ? [line.level, line.message, line.facts] : []));
    const facts = (delayMs: number) => ({
      delayMs,
      reason: 'client-side throttling, not priority and fairness',
      verb: 'GET',
      path: '/api/v1/persistentvolumes/a',
    });
    expect(waits).toEqual([
      [3, 'Waited before sending request', facts(1000)],
      [3, 'Waited before sending request', facts(2000)],
      [2, 'Waited before sending request', facts(2000)],
      [3, 'Waited before sending request', facts(3000)],
      [2, 'Waited before sending request', facts(3000)],
    ]);
  });

  it('given retries, then they are logged at level 4', async () => {
    const { client, logger, outcomeOf } = setUp([tooMany('2'), failed('reset'), volume]);
    await outcomeOf(client.get(persistentVolumes, name));
    expect(logger.lines).toEqual([
      {
        kind: 'info',
        level: 4,
        message: 'Got a Retry-After response',
        facts: { delayMs: 2000, attempt: 1, method: 'GET', path: '/api/v1/persistentvolumes/a' },
      },
      {
        kind: 'info',
        level: 4,
        message: 'Retrying after a broken exchange',
        facts: {
          delayMs: 1000,
          attempt: 2,
          method: 'GET',
          path: '/api/v1/persistentvolumes/a',
          failure: 'reset',
          error: 'reset!',
        },
      },
    ]);
  });
});
