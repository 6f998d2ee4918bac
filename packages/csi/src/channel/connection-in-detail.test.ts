// SPDX-License-Identifier: Apache-2.0
/** Errors, log lines and times of a connection that are easily lost, in virtual time that does not begin at 0. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeClock, recordingLogger, settle } from '@csi-sidecars/runtime/testing';
import { parseAddress } from './address.ts';
import { ConnectError, type ConnectionOptions, openConnection } from './connection.ts';
import type { DialResult } from './dial.ts';
import { type Exchange, type ExchangeOutcome, failed } from './exchange.ts';

const probe = '/csi.v1.Identity/Probe';
const startMs = 7_000_000;
const missing: DialResult = { kind: 'failed', reason: 'connect ENOENT /csi.sock' };

/** A dialler that takes `dialMs`, and gives these results in order, the last one again and again. */
async function scripted(results: readonly (DialResult | { readonly life: Promise<void> })[], dialMs = 0) {
  const clock = new FakeClock();
  await clock.advance(startMs);
  const log = recordingLogger();
  const attempts: number[] = [];
  const left = [...results];
  const exchange = (async () => ({ kind: 'answered', response: { ready: null } })) as Exchange;
  const dial = async (): Promise<DialResult> => {
    attempts.push(clock.monotonicMs() - startMs);
    const result = left.length > 1 ? left.shift()! : left[0]!;
    if (dialMs > 0) await clock.sleep(dialMs);
    if ('kind' in result) return result;
    return { kind: 'connected', connection: { exchange, ended: result.life, close: () => undefined } };
  };
  const open = (given: Partial<ConnectionOptions> = {}) =>
    openConnection(
      { clock, log, dial },
      { address: parseAddress('/csi.sock'), connectTimeoutMs: 0, lossPolicy: 'reconnect', ...given },
    );
  return { clock, log, attempts, open };
}

const over = { life: Promise.resolve() };
const call = (connection: { readonly exchange: Exchange }): Promise<ExchangeOutcome<typeof probe>> =>
  connection.exchange(probe, {}, { timeoutMs: 60_000 });

describe('a connection that is not made', () => {
  it('given a time limit that passes, then the error has its kind, its name and both texts', async () => {
    const driver = await scripted([missing]);
    const error = driver.open({ connectTimeoutMs: 2000 }).catch((reason: unknown) => reason);
    await driver.clock.advance(2000);
    expect(await error).toBeInstanceOf(ConnectError);
    expect(await error).toMatchObject({
      name: 'ConnectError',
      kind: 'deadlineExceeded',
      contextText: 'context deadline exceeded',
      message:
        'context deadline exceeded: connect ENOENT /csi.sock (does the driver run, and is the folder of its socket mounted in this container?)',
    });
    expect(driver.attempts).toEqual([0, 1000]);
  });

  it('given a limit of one millisecond, then it is a limit', async () => {
    const driver = await scripted([missing]);
    const fails = expect(driver.open({ connectTimeoutMs: 1 })).rejects.toThrow('context deadline exceeded');
    await driver.clock.advance(1);
    await fails;
    expect(driver.attempts).toEqual([0]);
  });

  it('given a signal that aborts between two attempts, then there is no further one, and the error has its cause', async () => {
    const driver = await scripted([missing]);
    const stop = new AbortController();
    const error = driver.open({ signal: stop.signal }).catch((reason: unknown) => reason);
    await driver.clock.advance(1500);
    stop.abort(new Error('asked to stop'));
    expect(await error).toMatchObject({
      kind: 'canceled',
      contextText: 'context canceled',
      message: 'context canceled',
      cause: expect.anything(),
    });
    await driver.clock.advance(5000);
    expect(driver.attempts).toEqual([0, 1000]);
  });

  it('given a signal that aborts during an attempt that fails, then the error has the reason of the signal', async () => {
    const driver = await scripted([missing], 300);
    const stop = new AbortController();
    const error = driver.open({ signal: stop.signal }).catch((reason: unknown) => reason);
    const why = new Error('asked to stop');
    stop.abort(why);
    await driver.clock.advance(300);
    expect(await error).toMatchObject({ kind: 'canceled', message: 'context canceled', cause: why });
  });

  it('given a socket that this user may not write to, then the error names the user', async () => {
    const driver = await scripted([{ kind: 'failed', reason: 'connect EACCES /csi.sock' }]);
    const fails = expect(driver.open({ connectTimeoutMs: 1 })).rejects.toThrow(
      `context deadline exceeded: connect EACCES /csi.sock (uid ${process.getuid?.()} may not write to the socket)`,
    );
    await driver.clock.advance(1);
    await fails;
  });

  it('given a platform without user ids, as Windows is, then the error names none', async () => {
    const unix = { getuid: process.getuid };
    delete process.getuid;
    onTestFinished(() => void Object.assign(process, unix));
    const driver = await scripted([{ kind: 'failed', reason: 'connect EACCES C:\\csi.sock' }]);
    const message = driver.open({ connectTimeoutMs: 1 }).catch(String);
    await driver.clock.advance(1);
    expect(await message).toBe('ConnectError: context deadline exceeded: connect EACCES C:\\csi.sock');
  });
});

describe('a connection that is lost', () => {
  it.each(['reconnect', 'end'] as const)(
    'given the policy %s, when its owner closes it, then calls are canceled, and nothing is dialled',
    async (lossPolicy) => {
      const driver = await scripted([over]);
      const connection = await driver.open({ lossPolicy });
      await settle();
      connection.close();
      expect(await call(connection)).toMatchObject({ error: { code: 'Canceled', method: probe } });
      expect(driver.attempts).toEqual([0]);
    },
  );

  it.each(['unix:/csi.sock', 'localhost:9000'])(
    'given the address %s, then the loss is not logged, as upstream does not see it',
    async (text) => {
      const driver = await scripted([over]);
      await driver.open({ address: parseAddress(text) });
      await settle();
      expect(driver.log.messages()).toEqual(['Connecting']);
    },
  );

  it('given the policy end, then the signal says why, and the error of a call names its method', async () => {
    const driver = await scripted([over]);
    const connection = await driver.open({ lossPolicy: 'end' });
    await settle();
    expect(connection.lost.reason).toEqual(new Error('lost connection to CSI driver'));
    expect(await call(connection)).toMatchObject({ error: { code: 'Unavailable', method: probe } });
  });

  it('given a new connection that ends at once, then the call is Unavailable', async () => {
    const driver = await scripted([over]);
    const connection = await driver.open();
    await settle();
    expect(await call(connection)).toMatchObject({
      kind: 'failed',
      error: { code: 'Unavailable', method: probe, detail: 'connection lost' },
    });
  });

  it('given attempts that take 300 ms and fail, then the next one begins a second after the last began', async () => {
    const driver = await scripted([over, missing], 300);
    const opening = driver.open();
    await driver.clock.advance(300);
    const connection = await opening;
    await settle();
    const first = call(connection);
    await driver.clock.advance(300);
    expect(await first).toMatchObject({ error: { code: 'Unavailable', method: probe } });
    await driver.clock.advance(699);
    await call(connection);
    expect(driver.attempts).toEqual([0, 300]);
    await driver.clock.advance(1);
    const second = call(connection);
    await driver.clock.advance(300);
    await second;
    expect(driver.attempts).toEqual([0, 300, 1300]);
  });

  it('given an attempt that takes longer than a second and fails, then the next call dials again at once', async () => {
    const driver = await scripted([over, missing], 1500);
    const opening = driver.open();
    await driver.clock.advance(1500);
    const connection = await opening;
    await settle();
    const first = call(connection);
    await driver.clock.advance(1500);
    await first;
    await driver.clock.advance(0);
    const second = call(connection);
    await driver.clock.advance(1500);
    await second;
    expect(driver.attempts).toEqual([0, 1500, 3000]);
  });

  it('given an owner that closes during an attempt that fails, then the call ends, and no later one dials', async () => {
    const driver = await scripted([over, missing], 300);
    const opening = driver.open();
    await driver.clock.advance(300);
    const connection = await opening;
    await settle();
    const open = call(connection);
    connection.close();
    await driver.clock.advance(300);
    expect((await open).kind).toBe('failed');
    await driver.clock.advance(2000);
    expect(await call(connection)).toMatchObject({ error: { code: 'Canceled', method: probe } });
    expect(driver.attempts).toEqual([0, 300]);
  });

  it('given an owner that closes after an attempt that failed, then the end of the pause opens nothing', async () => {
    const driver = await scripted([over, missing]);
    const connection = await driver.open();
    await settle();
    await call(connection);
    connection.close();
    await driver.clock.advance(2000);
    expect(await call(connection)).toMatchObject({ error: { code: 'Canceled', method: probe } });
    expect(driver.attempts).toEqual([0, 0]);
  });
});

it('given a failure with and without a cause, then only the first error has one', () => {
  const facts = { code: 'Internal', method: probe, detail: 'broken' } as const;
  const cause = new Error('why');
  expect([failed(facts, cause).error.cause, Object.hasOwn(failed(facts).error, 'cause')]).toEqual([cause, false]);
});
