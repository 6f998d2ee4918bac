// SPDX-License-Identifier: Apache-2.0
/** What is refused here ends the program before anything is connected. */
import type { DataSourceValidatorValues } from './flags.ts';

/** Why this command line cannot be run; undefined when it can. Upstream starts and then does nothing. */
export function refusedFlags(values: Pick<DataSourceValidatorValues, 'worker-threads'>): string | undefined {
  return values['worker-threads'] <= 0 ? '--worker-threads must be at least 1' : undefined;
}
