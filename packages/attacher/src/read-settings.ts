// SPDX-License-Identifier: Apache-2.0
/** From flags to settings: what is refused here ends the program before anything is connected. */
import type { AttacherSettings } from './settings.ts';

/** The flags that decide settings, as the command line has them. */
export interface SettingsFlags {
  readonly resync: number;
  readonly timeout: number;
  readonly 'retry-interval-start': number;
  readonly 'retry-interval-max': number;
  readonly 'worker-threads': number;
  readonly 'max-entries': number;
  readonly 'default-fstype': string;
  readonly 'reconcile-sync': number;
}

/** Why this command line cannot be run; undefined when it can. */
export function refusedFlags(flags: SettingsFlags): string | undefined {
  if (flags['worker-threads'] === 0) return '--worker-threads must be at least 1';
  // Upstream starts, and then every call has missed its deadline before it is sent.
  if (flags.timeout <= 0) return '--timeout must be greater than 0';
  return undefined;
}

/** Upstream compares without a pause when it is told 0. */
const minReconcileSyncMs = 1_000;

export function toSettings(flags: SettingsFlags, features: AttacherSettings['features']): AttacherSettings {
  return {
    workerThreads: flags['worker-threads'],
    retryIntervalStartMs: flags['retry-interval-start'],
    retryIntervalMaxMs: flags['retry-interval-max'],
    timeoutMs: flags.timeout,
    resyncMs: flags.resync,
    maxEntries: flags['max-entries'],
    reconcileSyncMs: Math.max(flags['reconcile-sync'], minReconcileSyncMs),
    defaultFsType: flags['default-fstype'],
    features,
  };
}
