// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { someSettings } from '../testing/builders.ts';
import { attacherProgram, type AttacherValues } from './flags.ts';
import { refusedFlags, toSettings } from './read-settings.ts';

function valuesOf(...args: readonly string[]): AttacherValues {
  const parsed = parseFlags(attacherProgram.flags, attacherProgram.syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(JSON.stringify(parsed));
  return parsed.values;
}
const { features } = someSettings();

it("given no flags, when the settings are read, then they are upstream's defaults", () => {
  expect(toSettings(valuesOf(), features)).toEqual(someSettings());
});

it.each([
  ['--worker-threads=0', '--worker-threads must be at least 1'],
  ['--timeout=0', '--timeout must be greater than 0'],
])(
  'given %s, when the settings are read, then one clear line refuses it (upstream accepts a timeout of zero)',
  (flag, line) => {
    expect([refusedFlags(valuesOf(flag)), refusedFlags(valuesOf())]).toEqual([line, undefined]);
  },
);

it('[attacher#133] given a pause of zero between comparisons, when the settings are read, then the pause is one second (upstream does not pause)', () => {
  expect(toSettings(valuesOf('--reconcile-sync=0'), features).reconcileSyncMs).toBe(1_000);
});

it('given the smallest timeout and one worker, when the settings are read, then they are accepted', () => {
  expect(refusedFlags(valuesOf('--timeout=1ms', '--worker-threads=1'))).toBeUndefined();
});
