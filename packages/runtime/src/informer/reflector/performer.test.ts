// SPDX-License-Identifier: Apache-2.0
/** What the reflector does for each demand: its requests, log lines, pauses and turns of the event loop. */
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from '../../../testing/index.ts';
import { persistentVolumes } from '../../api/resource.ts';
import { createPerformer } from './performer.ts';
import type { Demand } from './state.ts';

const list: Demand = { kind: 'list', page: { resourceVersion: '0', limit: 500, continue: undefined } };
const stream: Demand = { kind: 'watch', resourceVersion: '', initialEvents: 'wanted' };
const read: Demand = { kind: 'read' };
const item = (name: string): object => ({ metadata: { name } });
const page = (items: readonly object[], more = ''): string =>
  JSON.stringify({
    kind: 'PersistentVolumeList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '9', continue: more },
    items,
  });

type Chunks = (signal: AbortSignal) => AsyncGenerator<Uint8Array>;

function performing(chunks: Chunks, spend: () => Promise<void> | undefined = () => undefined) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const stop = new AbortController();
  const log: unknown[] = [];
  const client = {
    stream: async (request: { readonly purpose: string }, signal: AbortSignal) => {
      log.push(request.purpose);
      return { status: 200, headers: {}, body: chunks(signal) };
    },
  };
  const sink = {
    startCollecting: () => void log.push('start'),
    collect: ({
      type,
      object,
    }: {
      readonly type: string;
      readonly object: { readonly metadata: { readonly name?: string } };
    }) => void log.push(`${type} ${object.metadata.name}`),
  };
  const random = { next: () => 0.5, uuid: () => '' };
  const target = { resource: persistentVolumes, selection: {}, content: 'full' } as const;
  const performer = createPerformer(
    { client, clock, logger, random, budget: { spend } },
    { target, sink, maxFrameBytes: 10_000 },
    stop.signal,
  );
  return { clock, logger, stop, log, performer };
}

describe('a list', () => {
  it('given its items, then each is collected as added, and one without metadata is logged and skipped', async () => {
    const { performer, logger, log } = performing(async function* () {
      yield Buffer.from(page([item('a'), { spec: {} }, item('b')]));
    });
    expect(await performer.perform(list)).toEqual({ kind: 'page', resourceVersion: '9', continue: undefined });
    expect(log).toEqual(['start', 'list', 'ADDED a', 'ADDED b']);
    expect(logger.lines).toMatchObject([
      {
        kind: 'error',
        error: undefined,
        message: 'Unexpected object in a list, skipped',
        facts: { what: 'PersistentVolume without metadata' },
      },
    ]);
  });

  it('given a later page, then what was collected stays', async () => {
    const { performer, log } = performing(async function* () {
      yield Buffer.from(page([item('a')]));
    });
    await performer.perform({ kind: 'list', page: { ...list.page, continue: 'token' } });
    expect(log).toEqual(['list', 'ADDED a']);
  });

  it.each([
    { tookMs: 10_000, more: '', lines: [] },
    { tookMs: 10_001, more: '', lines: [{ kind: 'info', level: 2, message: 'Slow list', facts: { tookMs: 10_001 } }] },
    { tookMs: 20_000, more: 'token', lines: [] },
  ])(
    'given a list of $tookMs ms with the token "$more", then only the last page of one above 10 s is logged',
    async ({ tookMs, more, lines }) => {
      const { performer, clock, logger } = performing(async function* () {
        await clock.sleep(tookMs);
        yield Buffer.from(page([item('a')], more));
      });
      await clock.advance(5_000);
      const listed = performer.perform(list);
      await clock.advance(tookMs);
      await listed;
      expect(logger.lines).toEqual(lines);
    },
  );

  it('given a budget that is spent, then the next item comes after the event loop has turned', async () => {
    const turn = Promise.withResolvers<void>();
    const turns = [turn.promise];
    const { performer, log } = performing(
      async function* () {
        yield Buffer.from(page([item('a'), item('b')]));
      },
      () => turns.pop(),
    );
    const listed = performer.perform(list);
    await settle();
    expect(log.at(-1)).toBe('ADDED a');
    turn.resolve();
    await listed;
    expect(log.at(-1)).toBe('ADDED b');
  });

  it('given a stop between two items, then the rest is dropped, and the list ends after its body', async () => {
    let isEnded = false;
    const { performer, log, stop } = performing(
      async function* () {
        try {
          yield Buffer.from(page([item('a'), item('b')]));
          yield Buffer.from(' ');
        } finally {
          await settle();
          isEnded = true;
        }
      },
      () => {
        stop.abort(new Error('stop'));
        return undefined;
      },
    );
    expect(await performer.perform(list)).toEqual({ kind: 'failed', error: new Error('stop') });
    expect([log.at(-1), isEnded]).toEqual(['ADDED a', true]);
  });

  it('given a body that breaks, then the list has failed with its error', async () => {
    const { performer } = performing(async function* () {
      yield Buffer.from(page([item('a')]).slice(0, 90));
      throw new Error('reset');
    });
    expect(await performer.perform(list)).toEqual({ kind: 'failed', error: new Error('reset') });
  });
});

describe('a watch', () => {
  const silent: Chunks = async function* (signal) {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    yield Buffer.of();
  };
  const warnings = (logger: ReturnType<typeof recordingLogger>) =>
    logger.lines.map(({ kind, message, facts }) => [kind, message, facts['lastEventAgoMs']]);

  it('given a streaming list that hangs, then this is logged every ten seconds until it is closed', async () => {
    const { performer, clock, logger, log } = performing(silent);
    expect(await performer.perform(stream)).toEqual({ kind: 'opened' });
    expect(log).toEqual(['start', 'watch']);
    await clock.advance(20_000);
    const message = 'Still waiting for the end of the initial events';
    expect(warnings(logger)).toEqual([
      ['warn', message, 10_000],
      ['warn', message, 20_000],
    ]);
    await performer.closeWatch();
    expect(clock.pending).toBe(0);
  });

  it('given the initial events have ended, then nothing is logged', async () => {
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const { performer, clock, logger } = performing(async function* (signal) {
      const object = { kind: 'PersistentVolume', apiVersion: 'v1', metadata: { annotations } };
      yield Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
      yield* silent(signal);
    });
    await performer.perform(stream);
    expect(performer.ready()).toBeUndefined();
    expect(await performer.perform(read)).toMatchObject({
      kind: 'event',
      event: { kind: 'bookmark', initialEventsEnd: true },
    });
    await clock.advance(60_000);
    expect(logger.lines).toEqual([]);
    await performer.closeWatch();
  });

  it('given a watch without initial events, then nothing is collected, and its silence is not logged', async () => {
    const { performer, clock, logger, log } = performing(silent);
    await performer.perform({ ...stream, initialEvents: 'none' });
    await clock.advance(60_000);
    expect([log, logger.lines]).toEqual([['watch'], []]);
    await performer.closeWatch();
  });

  it('given no open watch, then reading one is a defect', () => {
    const { performer } = performing(silent);
    expect(performer.ready()).toBeUndefined();
    expect(() => performer.perform(read)).toThrow('reflector: no watch is open');
  });
});

it('given a pause, then it lasts its shortest time and the random part, and ends with the signal', async () => {
  const { performer, clock, stop } = performing(async function* () {
    yield Buffer.of();
  });
  const pause: Demand = { kind: 'wait', pause: { minMs: 100, spreadMs: 50 } };
  let woke: unknown;
  void performer.perform(pause).then((input) => (woke = input));
  await clock.advance(124);
  expect(woke).toBeUndefined();
  await clock.advance(1);
  expect(woke).toEqual({ kind: 'woke' });
  const second = performer.perform(pause);
  stop.abort();
  expect([await second, clock.pending]).toEqual([{ kind: 'woke' }, 0]);
});
