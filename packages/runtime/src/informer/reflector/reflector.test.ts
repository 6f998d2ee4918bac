// SPDX-License-Identifier: Apache-2.0
/** The loop of the reflector: what its sink hears, in which order, and what it waits for. */
import { describe, expect, it } from 'vitest';
import {
  aVolume,
  collectionErrors,
  FakeClock,
  recordingLogger,
  ScriptedBody,
  ScriptedCollection,
  settle,
  syncedStream,
} from '../../../testing/index.ts';
import type { ApiClient } from '../../api/client.ts';
import { persistentVolumes } from '../../api/resource.ts';
import { runReflector } from './reflector.ts';
import type { Sink } from './sink.ts';

interface Fixture {
  /** The client's part; default: a scripted collection. */
  readonly stream?: ApiClient['stream'];
  /** What `apply` returns. */
  readonly applied?: () => Promise<void> | undefined;
  readonly streaming?: 'preferred' | 'off';
}

function reflecting({ stream, applied = () => undefined, streaming = 'preferred' }: Fixture = {}) {
  const clock = new FakeClock();
  const api = new ScriptedCollection(clock);
  const stop = new AbortController();
  const calls: string[] = [];
  const named = (verb: string, { metadata }: { readonly metadata: { readonly name?: string } }): void =>
    void calls.push(`${verb} ${metadata.name}`);
  const sink: Sink = {
    startCollecting: () => void calls.push('start'),
    collect: ({ object }) => named('collect', object),
    replace: async (resourceVersion) => void calls.push(`replace ${resourceVersion}`),
    apply: ({ object }) => {
      named('apply', object);
      return applied();
    },
    bookmark: (resourceVersion) => void calls.push(`bookmark ${resourceVersion}`),
    setConnection: (connection) => void calls.push(connection),
  };
  const run = (): Promise<void> =>
    runReflector(
      {
        client: { stream: stream ?? api.stream },
        clock,
        random: { next: () => 0, uuid: () => '' },
        logger: recordingLogger(),
        metrics: { stepped: () => undefined },
      },
      {
        target: { resource: persistentVolumes, selection: {}, content: 'full' },
        maxFrameBytes: 10_000,
        sink,
        streaming,
        pageSize: undefined,
      },
      stop.signal,
    );
  return { clock, api, stop, calls, run };
}

const chunk = (type: string, object: object): Uint8Array => Buffer.from(`${JSON.stringify({ type, object })}\n`);
const synced = chunk('BOOKMARK', {
  kind: 'PersistentVolume',
  apiVersion: 'v1',
  metadata: { resourceVersion: '10', annotations: { 'k8s.io/initial-events-end': 'true' } },
});
const answering = (body: AsyncIterable<Uint8Array>) => ({ status: 200, headers: {}, body });

describe('the sink', () => {
  it('given a stream, a watch that ends and one that is refused, then the connection is reported with each of these, and not with each event', async () => {
    const { clock, api, stop, calls, run } = reflecting();
    const [first, second] = [syncedStream('10', aVolume('a', '5')), new ScriptedBody()];
    api.answers(first.event('ADDED', aVolume('b', '11')).bookmark('12'), second, syncedStream('20'));
    const running = run();
    await clock.advance(5000);
    expect(calls).toEqual(['start', 'lost', 'collect a', 'live', 'replace 10', 'apply b', 'bookmark 12']);
    calls.length = 0;
    first.end();
    await settle();
    expect(calls).toEqual(['interrupted']);
    await clock.advance(1000);
    expect(calls).toEqual(['interrupted', 'interrupted', 'live']);
    calls.length = 0;
    second.refuse(collectionErrors.expired);
    await settle();
    expect(calls).toEqual(['lost']);
    await clock.advance(800);
    expect(calls).toEqual(['lost', 'lost', 'start', 'lost', 'live', 'replace 20']);
    stop.abort();
    await running;
  });

  it('given a change that takes long to apply, then the next event waits for it', async () => {
    const applied: PromiseWithResolvers<void>[] = [];
    const { clock, api, stop, calls, run } = reflecting({
      applied: () => {
        const pending = Promise.withResolvers<void>();
        applied.push(pending);
        return pending.promise;
      },
    });
    api.answers(syncedStream('10').event('ADDED', aVolume('a', '11')).event('ADDED', aVolume('b', '12')));
    const running = run();
    await clock.advance(1000);
    expect(calls.at(-1)).toBe('apply a');
    applied[0]?.resolve();
    await settle();
    expect(calls.at(-1)).toBe('apply b');
    applied[1]?.resolve();
    stop.abort();
    await running;
  });

  it('given an event that arrives with the stop, then the sink does not get it', async () => {
    const gate = Promise.withResolvers<void>();
    async function* body(): AsyncGenerator<Uint8Array> {
      yield synced;
      await gate.promise;
      yield chunk('ADDED', aVolume('late', '11'));
    }
    const { clock, stop, calls, run } = reflecting({ stream: async () => answering(body()) });
    const running = run();
    await clock.advance(0);
    stop.abort();
    gate.resolve();
    await running;
    expect(calls).toEqual(['start', 'lost', 'live', 'replace 10']);
  });
});

describe('one request at a time', () => {
  /** Streams whose ends take as long as the test wants. */
  function slowEnds(event: Uint8Array) {
    const ending = Promise.withResolvers<void>();
    const seen = { requests: 0, ended: 0 };
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        yield synced;
        yield event;
        await new Promise(() => undefined);
      } finally {
        await ending.promise;
        seen.ended += 1;
      }
    }
    const stream = async () => {
      seen.requests += 1;
      return answering(body());
    };
    return { ending, seen, stream };
  }

  it('given a watch that is refused and ends slowly, then the next request is sent only after its end', async () => {
    const refusal = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
    const { ending, seen, stream } = slowEnds(chunk('ERROR', refusal));
    const { clock, stop, run } = reflecting({ stream });
    const running = run();
    await clock.advance(10_000);
    expect(seen).toEqual({ requests: 1, ended: 0 });
    ending.resolve();
    await clock.advance(799);
    expect(seen).toEqual({ requests: 1, ended: 1 });
    stop.abort();
    await running;
  });

  it('given a stop while a watch is open that ends slowly, then the run ends only after it', async () => {
    const { ending, seen, stream } = slowEnds(chunk('ADDED', aVolume('a', '11')));
    const applied = () => {
      stop.abort();
      return undefined;
    };
    const { clock, stop, run } = reflecting({ stream, applied });
    let isOver = false;
    const running = run().then(() => (isOver = true));
    await clock.advance(1000);
    expect([isOver, seen.ended]).toEqual([false, 0]);
    ending.resolve();
    await running;
    expect([isOver, seen]).toEqual([true, { requests: 1, ended: 1 }]);
  });
});
