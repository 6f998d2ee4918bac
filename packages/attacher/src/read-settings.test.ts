// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type SettingsFlags, toSettings } from './read-settings.ts';

const flags: SettingsFlags = {
  resync: 600_000,
  timeout: 15_000,
  'retry-interval-start': 1_000,
  'retry-interval-max': 300_000,
  'worker-threads': 10,
  'max-entries': 0,
  'default-fstype': '',
  'reconcile-sync': 60_000,
};

it('[attacher#133] given no pause between two comparisons, then there is one of a second', () => {
  expect(toSettings({ ...flags, 'reconcile-sync': 0 }, { errorCodes: true }).reconcileSyncMs).toBe(1_000);
  expect(toSettings(flags, { errorCodes: true }).reconcileSyncMs).toBe(60_000);
});
