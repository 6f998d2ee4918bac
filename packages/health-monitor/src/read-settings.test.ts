// SPDX-License-Identifier: Apache-2.0
import { parseFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { healthMonitorProgram, type HealthMonitorValues } from './flags.ts';
import { toSettings } from './read-settings.ts';

function settingsOf(...args: readonly string[]) {
  const { flags, syntax } = healthMonitorProgram;
  const parsed = parseFlags<HealthMonitorValues>(flags, syntax, args);
  if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
  return toSettings(parsed.values);
}

it("given no flags, then the settings are upstream's defaults", () => {
  expect(settingsOf()).toEqual({
    workerThreads: 10,
    retryIntervalStartMs: 1_000,
    retryIntervalMaxMs: 60_000,
    timeoutMs: 15_000,
    listIntervalMs: 300_000,
    monitorIntervalMs: 60_000,
    maxEntries: 0,
  });
});

it.each(['0s', '-1s', '999ms'])('given a list interval of %s, then there is a second between two lists', (interval) => {
  expect(settingsOf(`--list-volumes-interval=${interval}`).listIntervalMs).toBe(1_000);
});

it('given all flags, then each has its effect', () => {
  expect(
    settingsOf(
      '--worker-threads=3',
      '--timeout=4s',
      '--list-volumes-interval=5s',
      '--monitor-interval=6s',
      '--max-entries=7',
      '--resync=8s',
      '--volume-list-add-interval=9s',
    ),
  ).toMatchObject({
    workerThreads: 3,
    timeoutMs: 4_000,
    listIntervalMs: 5_000,
    monitorIntervalMs: 6_000,
    maxEntries: 7,
  });
});
