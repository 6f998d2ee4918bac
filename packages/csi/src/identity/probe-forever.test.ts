// SPDX-License-Identifier: Apache-2.0
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { csiError, fakeCsiChannel, hang } from '../../testing/index.ts';
import { probeForever } from './probe-forever.ts';

const probe = '/csi.v1.Identity/Probe';
const ready = {};
const notReady = { ready: { value: false } };
const timedOut = csiError('DeadlineExceeded', 'context deadline exceeded');

function aDriver(answers: readonly (object | (() => Promise<never>))[]) {
  const clock = new FakeClock();
  const log = recordingLogger();
  const driver = fakeCsiChannel({ clock });
  const probedAt: number[] = [];
  for (const answer of answers) {
    driver.answerOnce(probe, () => {
      probedAt.push(clock.monotonicMs());
      return typeof answer === 'function' ? answer() : answer;
    });
  }
  const run = async (options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}): Promise<string> => {
    const result = probeForever({ channel: driver, clock, log }, { timeoutMs: 5000, ...options }).then(
      () => 'ready',
      (error: Error) => error.message,
    );
    await clock.advance(60_000);
    return await result;
  };
  return { clock, log, probedAt, run };
}

describe('probeForever', () => {
  it('given a driver that is ready, then it is probed once, at once', async () => {
    const driver = aDriver([ready]);
    expect(await driver.run()).toBe('ready');
    expect(driver.probedAt).toEqual([0]);
    expect(driver.log.messages()).toEqual(['Probing CSI driver for readiness']);
  });

  it('[common#23] given timeout, timeout, ready, then three calls, a second apart', async () => {
    const driver = aDriver([timedOut, timedOut, ready]);
    expect(await driver.run()).toBe('ready');
    expect(driver.probedAt).toEqual([0, 1000, 2000]);
    expect(driver.log.messages()).toEqual(['Probing CSI driver for readiness', 'CSI driver probe timed out']);
  });

  it('[common#24] given timeout, then an error, then it fails after two calls', async () => {
    const driver = aDriver([timedOut, csiError('Internal', 'broken'), ready]);
    expect(await driver.run()).toBe('CSI driver probe failed: rpc error: code = Internal desc = broken');
    expect(driver.probedAt).toEqual([0, 1000]);
  });

  it('[common#25] given not ready twice, then ready, then success', async () => {
    const driver = aDriver([notReady, notReady, ready]);
    expect(await driver.run()).toBe('ready');
    expect(driver.probedAt).toEqual([0, 1000, 2000]);
  });

  it('[common#81] given a driver that is not ready for long, then it is logged at once and at a growing pace', async () => {
    const driver = aDriver(Array.from({ length: 60 }, () => notReady));
    const running = driver.run();
    await running.catch(() => undefined);
    const hint = "the driver's log says why";
    expect(driver.log.lines.map(({ message, facts }) => [message, facts])).toEqual([
      ['Probing CSI driver for readiness', {}],
      ...[0, 10, 20, 40].map((forSeconds) => ['CSI driver is not ready', { forSeconds, hint }]),
    ]);
  });

  it('[common#26] given an error first, then it fails after one call', async () => {
    const driver = aDriver([csiError('Unimplemented', 'no such method'), ready]);
    expect(await driver.run()).toBe('CSI driver probe failed: rpc error: code = Unimplemented desc = no such method');
    expect(driver.probedAt).toEqual([0]);
  });

  it('[common#28] given a driver that stops listening between two probes, then it fails', async () => {
    const driver = aDriver([notReady, csiError('Unavailable', 'connect ECONNREFUSED')]);
    expect(await driver.run()).toBe(
      'CSI driver probe failed: rpc error: code = Unavailable desc = connect ECONNREFUSED',
    );
  });

  it('given probes longer than a tick, then the next follows at once, and later ones keep to the ticks', async () => {
    const driver = aDriver([hang, notReady, ready]);
    expect(await driver.run({ timeoutMs: 2500 })).toBe('ready');
    expect(driver.probedAt).toEqual([0, 2500, 3000]);
  });

  it('given a signal that aborts, then waiting ends with its reason', async () => {
    const stop = new AbortController();
    const driver = aDriver([notReady, ready]);
    const result = driver.run({ signal: stop.signal });
    stop.abort(new Error('shutting down'));
    expect(await result).toBe('shutting down');
    expect(driver.clock.pending).toBe(0);
  });
});

it('given a process that has run for a while, then the ticks count from the first probe', async () => {
  const driver = aDriver([notReady, notReady, ready]);
  await driver.clock.advance(12_345);
  expect(await driver.run()).toBe('ready');
  expect(driver.probedAt).toEqual([12_345, 13_345, 14_345]);
});

it('given an error of the driver, then it is the cause of the failure', async () => {
  const driver = fakeCsiChannel();
  driver.answer(probe, csiError('Internal', 'broken'));
  const deps = { channel: driver, clock: new FakeClock(), log: recordingLogger() };
  await expect(probeForever(deps, { timeoutMs: 1 })).rejects.toMatchObject({
    cause: { name: 'CsiError', code: 'Internal' },
  });
});
