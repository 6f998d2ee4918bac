// SPDX-License-Identifier: Apache-2.0
/**
 * The port for traces. Where there is no tracer (the default), a loop tests one `undefined` and allocates nothing. The context is passed on
 * explicitly: a run has its span as it has its logger, and gives it to the calls and writes that it makes. Nothing here may carry text of a
 * driver or of the API server, a request, an answer, a label or an annotation.
 */
export type AttributeValue = string | number | readonly string[];

/** Undefined: the attribute does not apply. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** The object that a run is about. It gives the trace its id. */
export interface TraceSubject {
  /** The UID of the claim, of the snapshot or of the group snapshot; undefined if none is known. */
  readonly uid: string | undefined;
  /** What somebody else wrote on the object as W3C trace context: any text. A valid one becomes a link. */
  readonly traceparent: string | undefined;
}

export interface Tracer {
  /** Begins a span without a parent. Undefined: nothing of it is recorded. Never throws. */
  start(name: string, attributes: Attributes, subject?: TraceSubject): Span | undefined;
}

/** All methods may be called after the end, and have no effect then. None throws. */
export interface Span {
  /** W3C trace context, version 00, for what is called: `00-<trace id>-<span id>-<flags>`. Undefined: what is called gets none. */
  readonly traceparent: string | undefined;
  set(attributes: Attributes): void;
  /** Begins the span of a call to another process. Undefined: this span has ended, or has as many spans below it as are kept. */
  child(name: string, attributes: Attributes): Span | undefined;
  /** `failed`: the status of the span is ERROR. */
  end(result: 'ended' | 'failed'): void;
}

/** The span of a run, for the calls and writes that the run makes. */
export interface CallParent extends Pick<Span, 'child' | 'traceparent'> {
  /** The row that the run is in; empty before its first. */
  readonly row: string;
}
