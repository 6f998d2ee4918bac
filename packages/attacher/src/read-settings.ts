// SPDX-License-Identifier: Apache-2.0
/** Turns flags into settings. A flag that is refused here ends the program before it connects to anything. */
import type { AttacherValues } from './flags.ts';
import type { AttacherSettings } from './settings.ts';

/** The reason why this command line is refused; undefined if it is accepted. */
export function refusedFlags(values: AttacherValues): string | undefined {
  if (values['worker-threads'] <= 0) return '--worker-threads must be at least 1';
  // Upstream starts with a timeout of 0, and then every call exceeds its deadline before it is sent.
  if (values.timeout <= 0) return '--timeout must be greater than 0';
  return undefined;
}

/** With `--reconcile-sync=0` upstream compares without a pause. */
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
