// SPDX-License-Identifier: Apache-2.0
import { ExitError } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { decide, type EndedRun, type RunEnd } from './supervision.ts';

const failed: RunEnd = { kind: 'failed', error: new Error('broken') };
const after = (end: RunEnd, run: Partial<EndedRun> = {}) =>
  decide({ end, lastedMs: 0, failures: 0, onFailure: 'restart', ...run });

it('[all-in-one#U1] given a run that ended because the process stops, then no other follows', () => {
  expect(after({ kind: 'stopped' })).toEqual({ row: 'U1', kind: 'rest' });
});

it('[all-in-one#U2] given a command line that cannot work, then the process ends with the code of the program', () => {
  const error = new ExitError(255, 'no', { reason: 'commandLine' });
  expect(after({ kind: 'refused', error })).toEqual({ row: 'U2', kind: 'endProcess', code: 255, error });
});

it('[all-in-one#U3] given a driver that is lost, then the controller waits for it', () => {
  expect(after({ kind: 'driverLost' })).toEqual({ row: 'U3', kind: 'awaitDriver' });
});

it('[all-in-one#U4] given a driver without a capability, then the controller is parked', () => {
  const error = new ExitError(1, 'cannot', { reason: 'driver' });
  expect(after({ kind: 'lacking', error }, { onFailure: 'exit' })).toEqual({ row: 'U4', kind: 'park', error });
});

it('[all-in-one#U5] given a lost lease, then the controller stands by again, whatever a failure would do', () => {
  expect(after({ kind: 'leaseLost' }, { onFailure: 'exit' })).toEqual({ row: 'U5', kind: 'standBy' });
});

it('[all-in-one#U6] given a failure and --controller-failure=exit, then the process ends with 1', () => {
  const sequel = after(failed, { onFailure: 'exit', lastedMs: 10_000_000 });
  expect(sequel).toMatchObject({ row: 'U6', kind: 'endProcess', code: 1 });
});

it('[all-in-one#U7] given a failure after ten minutes, then the pauses begin again with the first one', () => {
  const long = after(failed, { lastedMs: 600_000, failures: 7 });
  expect(long).toEqual({ row: 'U7', kind: 'restart', afterMs: 1_000, failures: 1 });
  expect(after(failed, { lastedMs: 599_999, failures: 7 }).row).toBe('U8');
});

it('[all-in-one#U8] given failures in a row, then the pauses double from 1 s to 5 min', () => {
  const pauses = Array.from({ length: 11 }, (_, failures) => {
    const sequel = after(failed, { failures });
    return sequel.kind === 'restart' ? [sequel.afterMs / 1000, sequel.failures] : sequel.kind;
  });
  expect(pauses.map((pause) => pause[0])).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  expect(pauses.map((pause) => pause[1])).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});
