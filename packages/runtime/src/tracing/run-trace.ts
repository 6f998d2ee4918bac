// SPDX-License-Identifier: Apache-2.0
/** The span of one run of a loop, from its begin to its end: the rows that it went through, and what it ended with. */
import type { ApiClient } from '../api/client.ts';
import { withWriteOptions } from '../api/with-write-options.ts';
import type { Conclusion, Outcome } from '../controller/reconcile.ts';
import type { CallParent, Span } from './tracer.ts';

/** Rows beyond these are not recorded. The last one is, as the row of the end. */
const maxRows = 32;

export class RunTrace implements CallParent {
  readonly #span: Span;
  readonly #rows: string[] = [];
  #row = '';
  #action = '';
  #outcome: Outcome | undefined;

  constructor(span: Span) {
    this.#span = span;
  }

  get row(): string {
    return this.#row;
  }

  get traceparent(): string | undefined {
    return this.#span.traceparent;
  }

  child(...args: Parameters<Span['child']>): ReturnType<Span['child']> {
    return this.#span.child(...args);
  }

  /** The run takes this step next. */
  decided(row: string, action: string): void {
    this.#enter(row);
    this.#action = action;
  }

  concluded({ row, outcome }: Conclusion): void {
    this.#enter(row);
    this.#outcome = outcome;
  }

  /** Without a conclusion before, the run threw. */
  end(): void {
    const outcome = this.#outcome;
    this.#span.set({
      'csi_sidecars.row': this.#row === '' ? undefined : this.#row,
      'csi_sidecars.rows': this.#rows,
      'csi_sidecars.action': this.#action === '' ? undefined : this.#action,
      'csi_sidecars.outcome': outcome === undefined ? 'retry' : outcomes[outcome.kind],
    });
    this.#span.end(outcome === undefined || outcome.kind === 'retry' ? 'failed' : 'ended');
  }

  #enter(row: string): void {
    this.#row = row;
    if (this.#rows.length < maxRows) this.#rows.push(row);
  }
}

const outcomes: Readonly<Record<Outcome['kind'], 'done' | 'retry' | 'wait'>> = {
  done: 'done',
  dropped: 'done',
  requeueAfter: 'wait',
  postpone: 'wait',
  retry: 'retry',
};

/** A client whose writes are spans below the parent. Reads are none. */
export function traced(client: ApiClient, span: CallParent): ApiClient {
  return withWriteOptions(client, (options) => ({ ...options, span }));
}
