// SPDX-License-Identifier: Apache-2.0
import { DeadlineError } from '@csi-sidecars/runtime';

/** What a caller reads of a failed request to the API server. A request that was ended by the limit of the call says so in Go's words. */
export function failureText(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return signal.reason instanceof DeadlineError ? 'context deadline exceeded' : 'context canceled';
  return error instanceof Error ? error.message : String(error);
}
