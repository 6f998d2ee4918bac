// SPDX-License-Identifier: Apache-2.0
/** From flags to settings: what is refused here ends the program before anything is connected. */
import type { AttacherValues } from './flags.ts';
import type { AttacherSettings } from './settings.ts';

/** Why this command line cannot be run; undefined when it can. */
export function refusedFlags(values: AttacherValues): string | undefined {
  if (values['worker-threads'] === 0) return '--worker-threads must be at least 1';
  // Upstream starts, and then every call has missed its deadline before it is sent.
  if (values.timeout <= 0) return '--timeout must be greater than 0';
  return undefined;
}

/** Upstream compares without a pause when it is told 0. */
const minReconcileSyncMs = 1_000;

export function toSettings(values: AttacherValues, features: AttacherSettings['features']): AttacherSettings {
  return {
    workerThreads: values['worker-threads'],
    retryIntervalStartMs: values['retry-interval-start'],
    retryIntervalMaxMs: values['retry-interval-max'],
    timeoutMs: values.timeout,
    resyncMs: values.resync,
    maxEntries: values['max-entries'],
    reconcileSyncMs: Math.max(values['reconcile-sync'], minReconcileSyncMs),
    defaultFsType: values['default-fstype'],
    features,
  };
}
