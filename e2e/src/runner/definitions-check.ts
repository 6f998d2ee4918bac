// SPDX-License-Identifier: Apache-2.0
/** Whether our definitions of the snapshot API are those that their makers publish: a result beside those of the scenarios. */
import type { Clock } from '@csi-sidecars/runtime';
import { compareDefinitions } from '../snapshot-api/compare-definitions.ts';
import type { Result } from './result.ts';

export async function checkDefinitions(clock: Clock): Promise<Result> {
  const startedMs = clock.monotonicMs();
  const outcome = await compareDefinitions().then(
    () => ({ kind: 'passed' }) as const,
    (error: unknown) => ({ kind: 'failed', error }) as const,
  );
  const title = 'the definitions of the snapshot API are the published ones, descriptions aside';
  return { id: 'API', title, outcome, ranMs: clock.monotonicMs() - startedMs };
}
