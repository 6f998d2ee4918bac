// SPDX-License-Identifier: Apache-2.0
/** What the command line decides, after parsing: plain data that every loop may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';

export interface DataSourceValidatorSettings extends LoopSettings {
  /** What is kept of claims in the cache. `whole` costs no memory beside a controller of the process that keeps them whole. */
  readonly claims: 'trimmed' | 'whole';
}

/** Upstream's, which are fixed: `defaultControllerLimiter` of the runtime. */
const [retryIntervalStartMs, retryIntervalMaxMs] = [5, 1_000_000];

export function settingsOf({
  workerThreads,
  claims,
}: Pick<DataSourceValidatorSettings, 'workerThreads' | 'claims'>): DataSourceValidatorSettings {
  return { workerThreads, claims, retryIntervalStartMs, retryIntervalMaxMs };
}
