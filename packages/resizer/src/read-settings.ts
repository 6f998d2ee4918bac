// SPDX-License-Identifier: Apache-2.0
/** From flags to settings: what is refused here ends the program before anything is connected. */
import type { ResizerValues } from './flags.ts';
import type { ResizerSettings } from './settings.ts';

/** Why this command line cannot be run; undefined when it can. Upstream starts and then expands nothing. */
export function refusedFlags(values: ResizerValues): string | undefined {
  if (values.workers <= 0) return '--workers must be at least 1';
  const timeouts = ['timeout', 'resize-timeout', 'modify-timeout'] as const;
  const name = timeouts.find((flag) => values[flag] <= 0);
  return name === undefined ? undefined : `--${name} must be greater than 0`;
}

export interface Timeouts {
  readonly expandMs: number;
  readonly modifyMs: number;
}

/** `--timeout` counts for every call of the driver if it was given, with whatever value. */
export function timeoutsOf(values: ResizerValues, given: ReadonlySet<string>): Timeouts {
  return given.has('timeout')
    ? { expandMs: values.timeout, modifyMs: values.timeout }
    : { expandMs: values['resize-timeout'], modifyMs: values['modify-timeout'] };
}

export function toSettings(
  values: ResizerValues,
  timeouts: Timeouts,
  features: ResizerSettings['features'],
): ResizerSettings {
  return {
    workerThreads: values.workers,
    retryIntervalStartMs: values['retry-interval-start'],
    retryIntervalMaxMs: values['retry-interval-max'],
    resyncMs: values['resync-period'],
    expandTimeoutMs: timeouts.expandMs,
    modifyTimeoutMs: timeouts.modifyMs,
    handleInUseErrors: values['handle-volume-inuse-error'],
    extraModifyMetadata: values['extra-modify-metadata'],
    features,
  };
}
