// SPDX-License-Identifier: Apache-2.0
/** Turns flags into settings. A flag that is refused here ends the program before it connects to anything. */
import type { HealthMonitorValues } from './flags.ts';
import type { HealthMonitorSettings } from './settings.ts';

/** The reason why this command line is refused; undefined if it is accepted. */
export function refusedFlags(values: HealthMonitorValues): string | undefined {
  if (values['worker-threads'] === 0) return 'Option --worker-threads must be greater than zero';
  // Upstream starts with a timeout of 0, and then every call exceeds its deadline before it is sent.
  if (values.timeout <= 0) return '--timeout must be greater than 0';
  if (values['max-entries'] < 0) return '--max-entries must not be negative';
  return undefined;
}

/** With `--list-volumes-interval=0` upstream lists without a pause. */
const minListIntervalMs = 1_000;

export function toSettings(values: HealthMonitorValues): HealthMonitorSettings {
  return {
    workerThreads: values['worker-threads'],
    // Within a cycle. The next report begins again.
    retryIntervalStartMs: 1_000,
    retryIntervalMaxMs: 60_000,
    timeoutMs: values.timeout,
    listIntervalMs: Math.max(values['list-volumes-interval'], minListIntervalMs),
    monitorIntervalMs: values['monitor-interval'],
    maxEntries: values['max-entries'],
  };
}
