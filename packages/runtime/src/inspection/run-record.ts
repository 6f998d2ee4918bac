// SPDX-License-Identifier: Apache-2.0
/** One run of a loop while it runs: its row, and the call to another process that it waits for. Its end is a decision. */
import type { Clock } from '../clock/clock.ts';
import type { Conclusion, Outcome } from '../controller/reconcile.ts';
import type { Attributes, AttributeValue, CallParent, Span } from '../tracing/tracer.ts';
import type { LastDecision } from './last-decisions.ts';
import { codeOf, shownText } from './shown-text.ts';

export interface RunDeps {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly trace: CallParent | undefined;
  readonly uid: string | undefined;
}

export interface OpenCall {
  /** `CreateVolume`. */
  readonly method: string;
  /** Monotonic. */
  readonly deadlineMs: number | undefined;
}

/** A class, because there is one for each run. */
export class RunRecord implements CallParent {
  readonly uid: string | undefined;
  /** Monotonic. */
  readonly startedMs: number;
  row = '';
  action = '';
  call: OpenCall | undefined;
  #callCode: string | undefined;
  readonly #clock: RunDeps['clock'];
  readonly #trace: CallParent | undefined;
  readonly #onEnd: (decision: LastDecision | undefined) => void;

  /** `onEnd` gets undefined for a run that came to no row. */
  constructor({ clock, trace, uid }: RunDeps, onEnd: (decision: LastDecision | undefined) => void) {
    this.#clock = clock;
    this.#trace = trace;
    this.#onEnd = onEnd;
    this.uid = uid;
    this.startedMs = clock.monotonicMs();
  }

  get traceparent(): string | undefined {
    return this.#trace?.traceparent;
  }

  child(name: string, attributes: Attributes): Span {
    const span = this.#trace?.child(name, attributes);
    const timeoutMs = attributes['csi_sidecars.timeout_ms'];
    const call: OpenCall = {
      method: name.slice(name.lastIndexOf('/') + 1),
      deadlineMs: typeof timeoutMs === 'number' ? this.#clock.monotonicMs() + timeoutMs : undefined,
    };
    this.call = call;
    return {
      traceparent: span === undefined ? this.traceparent : span.traceparent,
      set: (added) => {
        this.#called(added['rpc.response.status_code']);
        span?.set(added);
      },
      child: (...args) => span?.child(...args),
      end: (result) => {
        if (this.call === call) this.call = undefined;
        span?.end(result);
      },
    };
  }

  /** The code of the last call, for failures that do not carry their cause. */
  #called(code: AttributeValue | undefined): void {
    if (code !== undefined) this.#callCode = typeof code === 'string' && code !== 'OK' ? code : undefined;
  }

  decided(row: string, action: string): void {
    this.row = row;
    this.action = action;
  }

  ended(end: { readonly conclusion: Conclusion } | { readonly error: unknown }): void {
    if ('conclusion' in end) this.decided(end.conclusion.row, end.conclusion.kind);
    if (this.row === '') return this.#onEnd(undefined);
    const failure = 'conclusion' in end ? failureOf(end.conclusion.outcome) : end.error;
    this.#onEnd({
      row: this.row,
      action: this.action,
      atMs: this.#clock.nowMs(),
      tookMs: this.#clock.monotonicMs() - this.startedMs,
      code: failure === undefined ? undefined : (codeOf(failure) ?? this.#callCode),
      text: shownText(failure),
      uid: this.uid,
    });
  }
}

/** An error, or the reason to wait; undefined: the run has not failed. */
function failureOf(outcome: Outcome): unknown {
  if (outcome.kind === 'retry') return outcome.cause;
  return outcome.kind === 'postpone' ? outcome.reason : undefined;
}
