// SPDX-License-Identifier: Apache-2.0
/** Actions as the tables of both kinds expect them of `decide`. */
import type { Outcome, RecordedEvent } from '@csi-sidecars/runtime';
import type { Conclusion } from '../src/content-types.ts';

export function concludes(
  row: string,
  outcome: Outcome,
  ...events: readonly RecordedEvent[]
): Conclusion & { readonly row: string } {
  return { row, kind: 'conclude', outcome, events };
}

export function event(reason: string, message: string): RecordedEvent {
  return { type: 'Warning', reason, message };
}

interface ShownFailure<C> {
  readonly row: string;
  readonly kind: 'saveFailure';
  readonly content: C;
  readonly message: string;
}

/** The status shows a failure whose text begins so. */
export function showing(prefix: string): <C>(row: string, content: C, cause: string) => ShownFailure<C> {
  return (row, content, cause) => ({ row, kind: 'saveFailure', content, message: prefix + cause });
}
