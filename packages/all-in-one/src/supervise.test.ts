// SPDX-License-Identifier: Apache-2.0
import { ConnectError } from '@csi-sidecars/csi';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { ExitError } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { supervise } from './supervise.ts';

function supervised(run: (signal: AbortSignal) => Promise<number>) {
  const clock = new FakeClock();
  const log = recordingLogger();
  const stopping = new AbortController();
  const startsMs: number[] = [];
  const code = supervise(
    { clock, log },
    {
      name: 'part',
      run: (_, signal) => {
        startsMs.push(clock.monotonicMs());
        // Without pauses it would never end.
        if (startsMs.length === 100) stopping.abort();
        return run(signal);
      },
    },
    stopping.signal,
  );
  return { clock, log, startsMs, code, stop: () => stopping.abort() };
}

const untilAborted = (signal: AbortSignal, code: number): Promise<number> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(code), { once: true }));

it('given a part that fails at once, then it is started again after pauses that double, up to two minutes', async () => {
  const { clock, startsMs, code, stop } = supervised(() => Promise.reject(new ExitError(1, 'no')));
  await clock.advance(500_000);
  expect(startsMs.map((ms) => ms / 1000)).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 247, 367, 487]);
  stop();
  expect(await code).toBe(0);
  expect(clock.pending).toBe(0);
});

it('given a run that lasted, then the pauses start again at the first one', async () => {
  let runs = 0;
  const { clock, startsMs, stop } = supervised(async () => {
    runs += 1;
    if (runs === 4) await clock.sleep(120_000);
    return 1;
  });
  await clock.advance(130_000);
  expect(startsMs.map((ms) => ms / 1000)).toEqual([0, 1, 3, 7, 128, 130]);
  stop();
});

it('given a defect, then it is logged, and the part is started again', async () => {
  const error = new TypeError('defect');
  const { clock, log, startsMs, stop } = supervised(() => Promise.reject(error));
  await clock.advance(1_000);
  expect(startsMs).toHaveLength(2);
  const facts = { part: 'part' };
  expect(log.lines.slice(0, 2)).toEqual([
    { kind: 'error', message: 'A part of the process failed', facts, error },
    {
      kind: 'warn',
      message: 'A part of the process has ended and will be started again',
      facts: { ...facts, code: 1, pauseSeconds: 1 },
    },
  ]);
  stop();
});

it('given a stop, then the exit code is that of the run', async () => {
  const { code, stop } = supervised((signal) => untilAborted(signal, 7));
  stop();
  expect(await code).toBe(7);
});

const canceled = new ConnectError('canceled', '');

it.each<[string, ErrorOptions, number, number]>([
  ['', { cause: canceled }, 0, 0],
  ['whose time was up', { cause: new ConnectError('deadlineExceeded', '') }, 3, 1],
  ['without a cause', {}, 3, 1],
  ['and a defect', { cause: new TypeError('defect') }, 3, 1],
])(
  'given a stop while the part connects to its driver %s, then the code is that of the part, but for a call that the stop ended',
  async (...[, options, expected, errors]) => {
    const { code, log, stop } = supervised(async (signal) => {
      await untilAborted(signal, 0);
      throw new ExitError(3, 'Error connecting to CSI driver', options);
    });
    stop();
    expect(await code).toBe(expected);
    expect(log.messages()).toEqual(Array(errors).fill('Error connecting to CSI driver'));
  },
);

it('given a defect after the stop, then the exit code is 1', async () => {
  const { code, stop } = supervised(async (signal) => {
    await untilAborted(signal, 0);
    throw new TypeError('defect');
  });
  stop();
  expect(await code).toBe(1);
});

it('given a call that was canceled without a stop, then that is a failure', async () => {
  const { clock, log, startsMs, stop } = supervised(() => Promise.reject(canceled));
  await clock.advance(1_000);
  expect([startsMs.length, log.lines[0]?.kind]).toEqual([2, 'error']);
  stop();
});

it('given a stop before the first run, then there is none', async () => {
  const stopped = supervise(
    { clock: new FakeClock(), log: recordingLogger() },
    { name: 'part', run: () => Promise.resolve(7) },
    AbortSignal.abort(),
  );
  expect(await stopped).toBe(0);
});
