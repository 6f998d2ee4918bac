// SPDX-License-Identifier: Apache-2.0
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim, csiFailure } from '../testing/builders.ts';
import { claimKey } from './claim.ts';
import { createOpenCalls } from './open-calls.ts';

const key = claimKey(aClaim());
const expand = { key, volumeHandle: 'v', method: 'ControllerExpandVolume', startedMs: 0, isOpen: true };
const modify = { ...expand, method: 'ControllerModifyVolume' };

it('given Aborted, then the log names the call that is open, and its age, if this process made it', async () => {
  const [clock, logger] = [new FakeClock(), recordingLogger()];
  const calls = createOpenCalls({ clock, logger });
  calls.note({ ...expand, isOpen: false }, csiFailure('Internal'));
  calls.note(modify, csiFailure('Aborted'));
  calls.forget(key);
  calls.note({ ...expand, startedMs: clock.monotonicMs() }, csiFailure('DeadlineExceeded'));
  await clock.advance(42_000);
  calls.note(modify, csiFailure('Aborted'));
  calls.note({ ...expand, isOpen: false }, undefined);
  calls.note(modify, csiFailure('Aborted'));
  const waits = logger.lines.map(({ facts }) => [facts?.['earlierMethod'], facts?.['ageSeconds']]);
  expect(waits).toEqual([
    ['unknown', 'unknown'],
    ['ControllerExpandVolume', 42],
    ['unknown', 'unknown'],
  ]);
});
