// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from '../../testing/index.ts';
import { createElectionFixture } from '../../testing/election/election-fixture.ts';
import { runProcess, type LifecycleSettings, type ProcessPort, type Program } from './run-process.ts';
import { shutdownStep, type CrashOrigin, type ShutdownInput, type ShutdownState, type SignalName } from './shutdown.ts';

function aProcess(program: Program, clock = new FakeClock()) {
  const signals = new Map<SignalName, () => void>();
  const exits: string[] = [];
  let crash: (error: unknown, origin: CrashOrigin) => void = () => undefined;
  const port: ProcessPort = {
    onSignal: (name, listener) => signals.set(name, listener),
    onCrash: (listener) => (crash = listener),
    exit: (code) => exits.push(`${code}@${clock.monotonicMs()}`),
  };
  const logger = recordingLogger();
  const running = runProcess({ process: port, clock, logger }, program);
  return {
    clock,
    logger,
    exits,
    running,
    kill: (name: SignalName = 'SIGTERM') => signals.get(name)?.(),
    crash: (error: unknown, origin: CrashOrigin) => crash(error, origin),
  };
}

/** A program that ends this long after its signal, and never by itself. */
const lasting =
  (endMs: number, settings: LifecycleSettings = { onSignal: 'drain' }) =>
  (clock: FakeClock): Program =>
  async ({ signal, configure }) => {
    configure(settings);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await clock.sleep(endMs);
    return 1;
  };

it.each([
  {
    how: 'throws',
    flushLogs: (): Promise<void> => {
      throw new Error('no log');
    },
  },
  { how: 'rejects', flushLogs: () => Promise.reject(new Error('no log')) },
])('given logs whose flush $how, then the process still exits with its code', async ({ flushLogs }) => {
  const { exits, running } = aProcess(({ configure }) => {
    configure({ flushLogs });
    return Promise.resolve(3);
  });
  await running;
  expect(exits).toEqual(['3@0']);
});

describe('the table', () => {
  const running: ShutdownState = { kind: 'running', onSignal: 'exit' };
  const draining: ShutdownState = { kind: 'draining' };
  it.each<readonly [ShutdownState, ShutdownInput, string]>([
    [running, { kind: 'signal', name: 'SIGTERM' }, 'exiting, exit 143'],
    [running, { kind: 'signal', name: 'SIGINT' }, 'exiting, exit 130'],
    [{ kind: 'running', onSignal: 'drain' }, { kind: 'signal', name: 'SIGINT' }, 'draining'],
    [draining, { kind: 'signal', name: 'SIGTERM' }, 'exiting, exit 1'],
    [draining, { kind: 'drainTimeout' }, 'exiting, exit 1'],
    [running, { kind: 'ended', code: 0 }, 'exiting, exit 0'],
    [draining, { kind: 'failed', error: 'e' }, 'exiting, exit 1'],
    [draining, { kind: 'crashed', error: 'e', origin: 'uncaughtException' }, 'exiting, exit 2'],
    [{ kind: 'exiting' }, { kind: 'crashed', error: 'e', origin: 'uncaughtException' }, 'exiting'],
    [{ kind: 'exiting' }, { kind: 'signal', name: 'SIGTERM' }, 'exiting'],
  ])('given %o and %o, then %s', (state, input, next) => {
    const { state: after, effects } = shutdownStep(state, input);
    const exits = effects.flatMap((effect) => (effect.kind === 'exit' ? [`exit ${effect.code}`] : []));
    expect([after.kind, ...exits].join(', ')).toBe(next);
  });

  it.each<readonly [ShutdownState, ShutdownState]>([
    [running, { kind: 'running', onSignal: 'drain' }],
    [draining, draining],
  ])('given %o and a program that wants to be drained, then %o', (state, next) => {
    expect(shutdownStep(state, { kind: 'configured', onSignal: 'drain' })).toEqual({ state: next, effects: [] });
  });
});

describe('runProcess', () => {
  it('given a signal and no drain, then logs are flushed and the process exits as if the signal had killed it', async () => {
    const flushed: string[] = [];
    const flushLogs = async () => void flushed.push('logs');
    const { kill, exits } = aProcess(({ configure }) => {
      configure({ flushLogs, onSignal: 'exit' });
      return new Promise(() => undefined);
    });
    kill('SIGINT');
    await settle();
    expect([flushed, exits]).toEqual([['logs'], ['130@0']]);
  });

  it('given logs that cannot be flushed, then the process exits after a second', async () => {
    const { kill, exits, clock } = aProcess(({ configure }) => {
      configure({ flushLogs: () => new Promise(() => undefined) });
      return new Promise(() => undefined);
    });
    kill();
    await clock.advance(1000);
    expect([exits, clock.pending]).toEqual([['143@1000'], 0]);
  });

  it('given a signal and a drain, then the program ends in order, and its code is that of the process', async () => {
    const clock = new FakeClock();
    let stop: AbortSignal | undefined;
    const program: Program = (lifecycle) => {
      stop = lifecycle.signal;
      return lasting(20_000)(clock)(lifecycle);
    };
    const { kill, exits, logger } = aProcess(program, clock);
    await settle();
    kill();
    expect(String(stop?.reason)).toBe('OrderlyStop: stopping');
    await clock.advance(20_000);
    expect([exits, clock.pending]).toEqual([['1@20000'], 0]);
    expect(logger.messages()).toEqual(['Received SIGTERM or SIGINT signal, shutting down controller.']);
  });

  it('[runtime#175] given a drain of five minutes, then the process exits after 25 s', async () => {
    const clock = new FakeClock();
    const { kill, exits, logger } = aProcess(lasting(300_000)(clock), clock);
    await settle();
    kill();
    await clock.advance(25_000);
    expect(exits).toEqual(['1@25000']);
    expect(logger.messages().at(-1)).toBe('Work did not end in time, exiting without it');
  });

  it('[runtime#172] given a second signal while draining, then the process exits with 1 at once', async () => {
    const clock = new FakeClock();
    const { kill, exits, logger } = aProcess(lasting(300_000)(clock), clock);
    await settle();
    kill();
    await clock.advance(1000);
    kill('SIGINT');
    await settle();
    expect(exits).toEqual(['1@1000']);
    expect(logger.messages().slice(1)).toEqual(['Received a second signal, exiting']);
  });

  it.each<[CrashOrigin, string]>([
    ['unhandledRejection', 'Unhandled promise rejection'],
    ['uncaughtException', 'Uncaught exception'],
  ])('[runtime#177] given an %s, then its stack is logged and the process exits with 2', async (origin, message) => {
    let stop: AbortSignal | undefined;
    const { crash, exits, logger, running } = aProcess(({ signal }) => {
      stop = signal;
      return new Promise(() => undefined);
    });
    const error = new Error('defect');
    crash(error, origin);
    crash(new Error('another'), origin);
    await running;
    expect([exits, stop?.aborted]).toEqual([['2@0'], false]);
    expect(logger.lines).toEqual([{ kind: 'error', message, facts: {}, error }]);
  });

  it('given a program that ends or fails, at once or later, then the process exits with its code or with 1', async () => {
    const programs: readonly Program[] = [
      async () => 0,
      async () => {
        throw new Error('x');
      },
      () => {
        throw new Error('sync');
      },
    ];
    const codes: string[] = [];
    const logged: unknown[] = [];
    for (const program of programs) {
      const { exits, running, logger } = aProcess(program);
      await running;
      codes.push(...exits);
      logged.push(...logger.lines);
    }
    expect(codes).toEqual(['0@0', '1@0', '1@0']);
    const failed = (text: string) => ({
      kind: 'error',
      message: 'The program failed',
      facts: {},
      error: new Error(text),
    });
    expect(logged).toEqual([failed('x'), failed('sync')]);
  });

  it('given a leader that is stopped, then its work ends, the lease is released, and the process exits with 1', async () => {
    const { clock, candidate, lease } = createElectionFixture();
    const { kill, exits } = aProcess(async ({ signal, configure }) => {
      configure({ onSignal: 'drain' });
      const a = candidate('a', { releaseOnExit: true });
      signal.addEventListener('abort', () => {
        a.stop();
        clock.timer(3000, () => a.endWork());
      });
      await a.ended;
      return 1;
    }, clock);
    await clock.advance(7000);
    kill();
    await clock.advance(2999);
    expect([exits, lease()?.spec?.holderIdentity]).toEqual([[], 'a']);
    await clock.advance(1);
    expect([exits, lease()?.spec?.holderIdentity, clock.pending]).toEqual([['1@10000'], '', 0]);
  });
});
