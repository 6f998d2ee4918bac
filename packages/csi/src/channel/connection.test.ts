// SPDX-License-Identifier: Apache-2.0
/** The life of a connection in virtual time, over a scripted dialler. Real sockets: connect.test.ts. */
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from '@csi-sidecars/runtime/testing';
import { parseAddress } from './address.ts';
import { type ConnectionOptions, type DriverConnection, openConnection } from './connection.ts';
import type { Connection, DialResult } from './dial.ts';
import { type Exchange, failed } from './exchange.ts';

const probe = '/csi.v1.Identity/Probe';

function aDriver(options: { readonly listening: boolean }) {
  const clock = new FakeClock();
  const log = recordingLogger();
  const attempts: number[] = [];
  let listening = options.listening;
  let drop: () => void = () => undefined;
  const exchange = (async () => ({ kind: 'answered', response: { ready: null } })) as Exchange;
  const dial = async (): Promise<DialResult> => {
    attempts.push(clock.monotonicMs());
    if (!listening) return { kind: 'failed', reason: 'connect ENOENT /csi.sock' };
    const ended = Promise.withResolvers<void>();
    drop = ended.resolve;
    const connection: Connection = { exchange, ended: ended.promise, close: () => ended.resolve() };
    return { kind: 'connected', connection };
  };
  return {
    clock,
    log,
    attempts,
    start: () => {
      listening = true;
    },
    stop: async () => {
      listening = false;
      drop();
      await settle();
    },
    restart: async () => {
      drop();
      await settle();
    },
    open: (given: Partial<ConnectionOptions> = {}) =>
      openConnection(
        { clock, log, dial },
        { address: parseAddress('/csi.sock'), connectTimeoutMs: 30_000, lossPolicy: 'reconnect', ...given },
      ),
  };
}

async function codeOf(connection: DriverConnection): Promise<string> {
  const outcome = await connection.exchange(probe, {}, { timeoutMs: 1000 });
  return outcome.kind === 'answered' ? 'OK' : `${outcome.error.code}: ${outcome.error.detail}`;
}

describe('connecting', () => {
  it('[common#3] given a driver that starts after 10 s, then the next attempt connects, one second after the last', async () => {
    const driver = aDriver({ listening: false });
    const connection = driver.open({ connectTimeoutMs: 0 });
    await driver.clock.advance(10_500);
    driver.start();
    await driver.clock.advance(500);
    expect(await codeOf(await connection)).toBe('OK');
    expect(driver.attempts).toEqual([0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000, 11_000]);
    expect(driver.log.lines.filter((line) => line.message === 'Still connecting')).toEqual([
      {
        kind: 'info',
        level: 0,
        message: 'Still connecting',
        facts: {
          address: '/csi.sock',
          forSeconds: 10,
          reason:
            'connect ENOENT /csi.sock (does the driver run, and is the folder of its socket mounted in this container?)',
        },
      },
    ]);
  });

  it('[common#4] given no driver and a time limit of 5 s, then connecting fails at 5 s and names the failure of the last attempt', async () => {
    const driver = aDriver({ listening: false });
    let failedAtMs: number | undefined;
    const connection = driver.open({ connectTimeoutMs: 5000 }).finally(() => {
      failedAtMs = driver.clock.monotonicMs();
    });
    const fails = expect(connection).rejects.toThrow('context deadline exceeded: connect ENOENT /csi.sock');
    await driver.clock.advance(6000);
    await fails;
    expect(failedAtMs).toBe(5000);
  });

  it('[common#5] given no time limit, then connecting goes on for as long as it takes, with a log line at a growing pace', async () => {
    const driver = aDriver({ listening: false });
    const connection = driver.open({ connectTimeoutMs: 0 });
    await driver.clock.advance(1_000_500);
    const lines = driver.log.lines.filter(({ message }) => message === 'Still connecting');
    expect(lines.map(({ facts }) => facts['forSeconds'])).toEqual([10, 20, 40, 80, 160, 320, 620, 920]);
    driver.start();
    await driver.clock.advance(1000);
    expect(await codeOf(await connection)).toBe('OK');
  });

  it('[common#6] given a signal that aborts while connecting, then it ends with context canceled', async () => {
    const driver = aDriver({ listening: false });
    const stop = new AbortController();
    const fails = expect(driver.open({ signal: stop.signal })).rejects.toThrow('context canceled');
    await driver.clock.advance(2500);
    stop.abort();
    await fails;
    expect(driver.clock.pending).toBe(0);
  });

  it.each(['unix:/csi.sock', 'localhost:9000', 'csi.sock'])(
    '[common#11] given %s and the policy end, then it is refused before any attempt',
    async (text) => {
      const driver = aDriver({ listening: true });
      await expect(driver.open({ address: parseAddress(text), lossPolicy: 'end' })).rejects.toThrow(
        'OnConnectionLoss callback only supported for unix:// addresses',
      );
      expect(driver.attempts).toEqual([]);
    },
  );
});

describe('losing the driver', () => {
  it('[common#8,10] given the policy reconnect, then calls fail while it is away and succeed when it is back', async () => {
    const driver = aDriver({ listening: true });
    const connection = await driver.open();
    await driver.stop();
    expect(await codeOf(connection)).toBe('Unavailable: connect ENOENT /csi.sock');
    await driver.clock.advance(5000);
    driver.start();
    expect(await codeOf(connection)).toBe('OK');
    expect(connection.lost.aborted).toBe(false);
    expect(driver.log.messages().filter((message) => message === 'Lost connection')).toHaveLength(1);
    await driver.stop();
    expect(driver.log.messages().filter((message) => message === 'Lost connection')).toHaveLength(2);
  });

  it('given many calls while the driver is away, then there is one attempt a second', async () => {
    const driver = aDriver({ listening: true });
    const connection = await driver.open();
    await driver.stop();
    await Promise.all([codeOf(connection), codeOf(connection), codeOf(connection)]);
    await driver.clock.advance(999);
    await codeOf(connection);
    await driver.clock.advance(1);
    await codeOf(connection);
    expect(driver.attempts).toEqual([0, 0, 1000]);
  });

  it('[common#9] given the policy end, then calls stay Unavailable even when the driver is back', async () => {
    const driver = aDriver({ listening: true });
    const connection = await driver.open({ lossPolicy: 'end' });
    let losses = 0;
    connection.lost.addEventListener('abort', () => {
      losses += 1;
    });
    await driver.stop();
    driver.start();
    await driver.clock.advance(60_000);
    expect(await codeOf(connection)).toBe('Unavailable: connection lost, reconnecting disabled');
    expect(await codeOf(connection)).toBe('Unavailable: connection lost, reconnecting disabled');
    expect([losses, driver.attempts]).toEqual([1, [0]]);
    expect(driver.log.lines.filter((line) => line.message === 'Lost connection')).toEqual([
      { kind: 'error', message: 'Lost connection', facts: { address: '/csi.sock' }, error: undefined },
    ]);
  });

  it('[common#12] given a driver that dies while no call is in flight, then the loss is detected at once', async () => {
    const driver = aDriver({ listening: true });
    const connection = await driver.open({ lossPolicy: 'end' });
    await driver.stop();
    expect(connection.lost.aborted).toBe(true);
  });

  it('[common#13] given a driver that restarts at once, then it still counts as lost', async () => {
    const driver = aDriver({ listening: true });
    const connection = await driver.open({ lossPolicy: 'end' });
    await driver.restart();
    expect(connection.lost.aborted).toBe(true);
  });

  it('given a connection that its owner closes, then nothing is lost and calls are canceled', async () => {
    const driver = aDriver({ listening: true });
    const connection = await driver.open({ lossPolicy: 'end' });
    connection.close();
    await settle();
    expect([connection.lost.aborted, await codeOf(connection)]).toEqual([false, 'Canceled: context canceled']);
    expect(driver.log.messages()).toEqual(['Connecting']);
  });

  /** A dialler that takes 300 ms, and counts the connections that were closed. */
  const slowDriver = (lives: Promise<void>[]) => {
    const clock = new FakeClock();
    const seen = { opened: 0, closed: 0 };
    const exchange = (async () => ({ kind: 'answered', response: { ready: null } })) as Exchange;
    const dial = async (): Promise<DialResult> => {
      await clock.sleep(300);
      seen.opened += 1;
      const ended = lives.shift() ?? new Promise<void>(() => undefined);
      return { kind: 'connected', connection: { exchange, ended, close: () => void (seen.closed += 1) } };
    };
    const open = (signal?: AbortSignal): Promise<DriverConnection> =>
      openConnection(
        { clock, log: recordingLogger(), dial },
        { address: parseAddress('/csi.sock'), connectTimeoutMs: 0, lossPolicy: 'reconnect', signal },
      );
    return { clock, seen, open };
  };

  it('given a connection that the driver has ended, then its socket is closed before the next one is opened', async () => {
    const driver = slowDriver([Promise.resolve()]);
    const opening = driver.open();
    await driver.clock.advance(300);
    const connection = await opening;
    await settle();
    expect(driver.seen).toEqual({ opened: 1, closed: 1 });
    const code = codeOf(connection);
    await driver.clock.advance(300);
    expect([await code, driver.seen]).toEqual(['OK', { opened: 2, closed: 1 }]);
    connection.close();
    expect(driver.seen.closed).toBe(2);
  });

  it('given an owner that closes while it is dialled again, then the new socket is closed, and the call is canceled', async () => {
    const driver = slowDriver([Promise.resolve()]);
    const opening = driver.open();
    await driver.clock.advance(300);
    const connection = await opening;
    await settle();
    const code = codeOf(connection);
    connection.close();
    await driver.clock.advance(300);
    expect([await code, driver.seen]).toEqual(['Canceled: context canceled', { opened: 2, closed: 2 }]);
  });

  it('given a signal that aborts during the first attempt, then the socket that it opens is closed', async () => {
    const driver = slowDriver([]);
    const stop = new AbortController();
    const fails = expect(driver.open(stop.signal)).rejects.toThrow('context canceled');
    stop.abort();
    await driver.clock.advance(300);
    await fails;
    expect(driver.seen).toEqual({ opened: 1, closed: 1 });
  });

  it('given a time limit, then the time for reconnecting counts', async () => {
    const clock = new FakeClock();
    const limits: number[] = [];
    const exchange = (async (method, _request, options) => {
      limits.push(options.timeoutMs);
      return failed({ code: 'Internal', method, detail: '' });
    }) as Exchange;
    const lives = [Promise.resolve(), new Promise<void>(() => undefined)];
    const dial = async (): Promise<DialResult> => {
      await clock.sleep(300);
      const ended = lives.shift() ?? Promise.resolve();
      return { kind: 'connected', connection: { exchange, ended, close: () => undefined } };
    };
    const opening = openConnection(
      { clock, log: recordingLogger(), dial },
      { address: parseAddress('/csi.sock'), connectTimeoutMs: 0, lossPolicy: 'reconnect' },
    );
    await clock.advance(300);
    const outcome = codeOf(await opening);
    await clock.advance(300);
    expect(await outcome).toBe('Internal: ');
    expect(limits).toEqual([700]);
  });
});
