// SPDX-License-Identifier: Apache-2.0
/**
 * Records the spans of a run, and decides at its end whether they are exported: if the trace is sampled, or if the run failed or took long.
 * Spans are plain data until then. A run that is not exported leaves nothing behind.
 */
import type { AttributeValue, Attributes, Clock, Random, Span, Tracer } from '@csi-sidecars/runtime';
import { isSampled, spanIdOf, type TraceIdsOptions, traceIdsOf, type TraceLink, type TraceStart } from './trace-ids.ts';

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
  const { random } = deps;
  const startOf = traceIdsOf(random, options);
  return {
    start: (name, attributes, subject) => {
      const spanId = spanIdOf(random);
      const started = startOf(subject, spanId);
      const run = new RunSpan(deps, name, {
        ...started,
        spanId,
        sampled: isSampled(started.traceId, options.samplingRatio),
      });
      run.set(options.attributes);
      run.set(attributes);
      return run;
    },
  };
}

interface RunFacts extends TraceStart {
  readonly spanId: string;
  readonly sampled: boolean;
}

class RunSpan implements Span {
  readonly #deps: RecorderDeps;
  readonly #facts: RunFacts;
  readonly #recording: Recording;
  readonly #ended: Recording[] = [];
  #begun = 1;

  constructor(deps: RecorderDeps, name: string, facts: RunFacts) {
    this.#deps = deps;
    this.#facts = facts;
    this.#recording = new Recording(deps.clock, { name, kind: 'internal', spanId: facts.spanId, parentId: undefined });
  }

  get traceparent(): string {
    return this.contextOf(this.#facts.spanId);
  }

  contextOf(spanId: string): string {
    const { traceId, sampled } = this.#facts;
    return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
  }

  set(attributes: Attributes): void {
    this.#recording.set(attributes);
  }

  child(name: string, attributes: Attributes): Span | undefined {
    if (this.#recording.hasEnded || this.#begun >= maxSpans) return undefined;
    this.#begun += 1;
    const { spanId: parentId } = this.#facts;
    const facts = { name, kind: 'client', spanId: spanIdOf(this.#deps.random), parentId } as const;
    const recording = new Recording(this.#deps.clock, facts);
    recording.set(attributes);
    return new CallSpan(this, recording);
  }

  /** A call that ends after its run is not part of it. */
  addEnded(recording: Recording): void {
    if (!this.#recording.hasEnded) this.#ended.push(recording);
  }

  end(result: RecordedSpan['result']): void {
    if (!this.#recording.end(result)) return;
    const { sampled, traceId, links } = this.#facts;
    const isWorth = sampled || result === 'failed' || this.#recording.tookMs > longRunMs;
    if (!isWorth) return;
    const spans = [this.#recording, ...this.#ended].map((recording) => recording.toSpan());
    this.#deps.keep({ traceId, links, spans });
  }
}

class CallSpan implements Span {
  readonly #run: RunSpan;
  readonly #recording: Recording;

  constructor(run: RunSpan, recording: Recording) {
    this.#run = run;
    this.#recording = recording;
  }

  get traceparent(): string {
    return this.#run.contextOf(this.#recording.facts.spanId);
  }

  set(attributes: Attributes): void {
    this.#recording.set(attributes);
  }

  child(): undefined {
    return undefined;
  }

  end(result: RecordedSpan['result']): void {
    if (this.#recording.end(result)) this.#run.addEnded(this.#recording);
  }
}

/** Most runs are not exported, so attributes are put together when a run is. */
class Recording {
  readonly facts: Pick<RecordedSpan, 'name' | 'kind' | 'spanId' | 'parentId'>;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #startedMs: number;
  readonly #given: Attributes[] = [];
  #end: { readonly tookMs: number; readonly result: RecordedSpan['result'] } | undefined;

  constructor(clock: Clock, facts: Recording['facts']) {
    this.facts = facts;
    this.#clock = clock;
    this.#startMs = clock.nowMs();
    this.#startedMs = clock.monotonicMs();
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  get tookMs(): number {
    return this.#end?.tookMs ?? 0;
  }

  set(attributes: Attributes): void {
    if (this.#end === undefined) this.#given.push(attributes);
  }

  /** False: it has ended before. */
  end(result: RecordedSpan['result']): boolean {
    if (this.#end !== undefined) return false;
    this.#end = { tookMs: this.#clock.monotonicMs() - this.#startedMs, result };
    return true;
  }

  toSpan(): RecordedSpan {
    const attributes: Record<string, AttributeValue> = {};
    for (const given of this.#given)
      for (const [key, value] of Object.entries(given)) if (value !== undefined) attributes[key] = bounded(value);
    const { tookMs, result } = this.#end ?? { tookMs: 0, result: 'ended' };
    return { ...this.facts, startMs: this.#startMs, endMs: this.#startMs + tookMs, result, attributes };
  }
}

function bounded(value: AttributeValue): AttributeValue {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? cut(value) : value.map(cut);
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : text.slice(0, maxTextLength).toWellFormed();
}
