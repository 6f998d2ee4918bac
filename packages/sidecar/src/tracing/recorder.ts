// SPDX-License-Identifier: Apache-2.0
/**
 * Records the spans of a run, and decides at its end whether they are exported: if the trace is sampled, or if the run failed or took long.
 * Spans are plain data until then. A run that is not exported leaves nothing behind.
 */
import type { AttributeValue, Attributes, Clock, Random, Span, Tracer, TraceSubject } from '@csi-sidecars/runtime';
import { isSampled, spanIdOf, type TraceIdsOptions, traceIdsOf, type TraceLink } from './trace-ids.ts';

export interface RecordedSpan {
  readonly name: string;
  readonly kind: 'internal' | 'client';
  readonly spanId: string;
  /** Undefined: it is that of the run. */
  readonly parentId: string | undefined;
  /** Since the Unix epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly result: 'ended' | 'failed';
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

export interface RecordedRun {
  readonly traceId: string;
  /** The span of the run first, then those that had ended by its end, in the order of their ends. */
  readonly spans: readonly RecordedSpan[];
  readonly links: readonly TraceLink[];
}

export interface RecorderOptions extends TraceIdsOptions {
  readonly samplingRatio: number;
  /** Stand in the span of each run. */
  readonly attributes: Attributes;
}

export interface RecorderDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly keep: (run: RecordedRun) => void;
}

/** That of the run included. */
const maxSpans = 40;
const longRunMs = 10_000;
/** In UTF-16 units. Names of objects are shorter; what somebody else wrote need not be. */
const maxTextLength = 512;

export function createRecorder(deps: RecorderDeps, options: RecorderOptions): Tracer {
  const { clock, random, keep } = deps;
  const startOf = traceIdsOf(random, options);

  function start(name: string, attributes: Attributes, subject?: TraceSubject): Span {
    const spanId = spanIdOf(random);
    const { traceId, links } = startOf(subject, spanId);
    const sampled = isSampled(traceId, options.samplingRatio);
    const flags = sampled ? '01' : '00';
    const ended: RecordedSpan[] = [];
    let begun = 1;
    let isOver = false;
    const root = open({ name, kind: 'internal', spanId, parentId: undefined });
    root.set(options.attributes);
    root.set(attributes);
    return {
      traceparent: `00-${traceId}-${spanId}-${flags}`,
      set: root.set,
      child: (childName, childAttributes) => {
        if (isOver || begun >= maxSpans) return undefined;
        begun += 1;
        const id = spanIdOf(random);
        const child = open({ name: childName, kind: 'client', spanId: id, parentId: spanId });
        child.set(childAttributes);
        return {
          traceparent: `00-${traceId}-${id}-${flags}`,
          set: child.set,
          child: () => undefined,
          end: (result) => {
            const span = child.end(result);
            if (span !== undefined && !isOver) ended.push(span);
          },
        };
      },
      end: (result) => {
        const span = root.end(result);
        if (span === undefined) return;
        isOver = true;
        const isWorth = sampled || result === 'failed' || span.endMs - span.startMs > longRunMs;
        if (isWorth) keep({ traceId, links, spans: [span, ...ended] });
      },
    };
  }

  function open(facts: Pick<RecordedSpan, 'name' | 'kind' | 'spanId' | 'parentId'>): OpenSpan {
    const attributes: Record<string, AttributeValue> = {};
    const startMs = clock.nowMs();
    const startedMs = clock.monotonicMs();
    let isOpen = true;
    return {
      set: (more) => {
        if (!isOpen) return;
        for (const [key, value] of Object.entries(more)) if (value !== undefined) attributes[key] = bounded(value);
      },
      end: (result) => {
        if (!isOpen) return undefined;
        isOpen = false;
        return { ...facts, startMs, endMs: startMs + clock.monotonicMs() - startedMs, result, attributes };
      },
    };
  }

  return { start };
}

interface OpenSpan {
  readonly set: (attributes: Attributes) => void;
  /** Undefined: it has ended before. */
  readonly end: (result: RecordedSpan['result']) => RecordedSpan | undefined;
}

function bounded(value: AttributeValue): AttributeValue {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? cut(value) : value.map(cut);
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : text.slice(0, maxTextLength).toWellFormed();
}
