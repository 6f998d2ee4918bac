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
  const { clock, log, startsMs, stop } = supervised(() => Promise.reject(new TypeError('defect')));
  await clock.advance(1_000);
  expect(startsMs).toHaveLength(2);
  expect(log.lines[0]).toMatchObject({
    kind: 'error',
    message: 'A part of the process failed',
    facts: { part: 'part' },
  });
  stop();
});

it('given a stop, then the exit code is that of the run', async () => {
  const { code, stop } = supervised((signal) => untilAborted(signal, 7));
  stop();
  expect(await code).toBe(7);
});

it('given a stop while the part connects to its driver, then that is not a failure', async () => {
  const { code, stop } = supervised(async (signal) => {
    await untilAborted(signal, 0);
    throw new ExitError(1, 'Error connecting to CSI driver', { cause: new ConnectError('canceled', '') });
  });
  stop();
  expect(await code).toBe(0);
});
