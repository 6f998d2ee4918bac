// SPDX-License-Identifier: Apache-2.0
import type { Attributes, AttributeValue, Span, Tracer, TraceSubject } from '../src/tracing/tracer.ts';

export interface RecordedTrace {
  readonly name: string;
  readonly subject: TraceSubject | undefined;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Undefined: it has not ended. */
  readonly result: 'ended' | 'failed' | undefined;
  readonly children: readonly RecordedTrace[];
}

export interface RecordingTracer extends Tracer {
  /** In the order of their begin. */
  readonly runs: readonly RecordedTrace[];
}

interface Opened {
  readonly name: string;
  readonly given: Attributes;
  readonly subject: TraceSubject | undefined;
}

/** Spans in memory. The context of the n-th of them is `context-n`. */
export function recordingTracer(): RecordingTracer {
  const runs: RecordedTrace[] = [];
  let count = 0;
  const open = (to: RecordedTrace[], { name, given, subject }: Opened): Span => {
    count += 1;
    const traceparent = `context-${count}`;
    const attributes: Record<string, AttributeValue> = {};
    const children: RecordedTrace[] = [];
    const recorded = { name, subject, attributes, children, result: undefined as RecordedTrace['result'] };
    to.push(recorded);
    const set = (more: Attributes): void => {
      for (const [key, value] of Object.entries(more)) if (value !== undefined) attributes[key] = value;
    };
    set(given);
    return {
      traceparent,
      set,
      child: (childName, childAttributes) =>
        open(children, { name: childName, given: childAttributes, subject: undefined }),
      end: (result) => {
        recorded.result = result;
      },
    };
  };
  return { runs, start: (name, given, subject) => open(runs, { name, given, subject }) };
}
