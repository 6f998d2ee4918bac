// SPDX-License-Identifier: Apache-2.0
/**
 * From recorded runs to the exporter of OpenTelemetry's SDK, within limits: spans that wait are counted, the newest are dropped, an exporter
 * that does not return is cut off, and a collector that is away costs one log line in ten minutes.
 */
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Clock, Logger, Metrics } from '@csi-sidecars/runtime';
import type { RecordedRun, RecordedSpan } from './recorder.ts';

export interface ExportDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly exporter: SpanExporter;
  /** Breaks the connections of the exporter, so that its exports end. */
  readonly cutOff: () => void;
  /** The number of spans of the last batch that the collector refused although it took the batch. Read once for each batch. */
  readonly takeRejected: () => number;
}

export interface ExportOptions {
  readonly resource: () => Resource;
  readonly version: string;
  /** For the log: without path. */
  readonly collector: string;
}

export interface SpanExport {
  readonly keep: (run: RecordedRun) => void;
  /** Exports what waits, for two seconds at most. Never rejects. */
  readonly close: () => Promise<void>;
}

/** Those of a batch that is being sent included. */
const maxWaiting = 2_048;
const batchSize = 512;
const batchPauseMs = 5_000;
/** More than the exporter takes for its tries. */
const exportLimitMs = 15_000;
const closeLimitMs = 2_000;
const quietMs = 10 * 60_000;

export function createSpanExport(deps: ExportDeps, options: ExportOptions): SpanExport {
  const { clock, logger, metrics, exporter } = deps;
  const counter = metrics.counter({
    name: 'csi_sidecars_tracing_spans_total',
    help: 'Spans that were exported, that were dropped because too many waited, and whose export failed.',
    labels: ['result'],
  });
  const count = (result: 'exported' | 'dropped' | 'failed', by: number): void => {
    if (by > 0) counter.inc({ result }, by);
  };
  let waiting = 0;
  let lost = 0;
  let loggedMs = -Infinity;

  const settle = (spans: number, { code, error }: ExportResult): void => {
    waiting -= spans;
    const failed = code === ExportResultCode.SUCCESS ? Math.min(deps.takeRejected(), spans) : spans;
    count('exported', spans - failed);
    count('failed', failed);
    lost += failed;
    if (failed > 0) report(code === ExportResultCode.SUCCESS ? 'refused by the collector' : reasonOf(error));
  };

  const report = (reason: string): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - loggedMs < quietMs) return;
    loggedMs = nowMs;
    logger.warn('Cannot export spans', { collector: options.collector, reason, lost });
    lost = 0;
  };

  const limited: SpanExporter = {
    export: (spans, done) => {
      let isOpen = true;
      const end = (result: ExportResult): void => {
        if (!isOpen) return;
        isOpen = false;
        limit.cancel();
        settle(spans.length, result);
        done(result);
      };
      const limit = clock.timer(exportLimitMs, () => {
        deps.cutOff();
        end({ code: ExportResultCode.FAILED, error: new Error('no answer in time') });
      });
      exporter.export(spans, end);
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor({
    exporter: limited,
    maxQueueSize: maxWaiting,
    maxExportBatchSize: batchSize,
    scheduledDelayMillis: batchPauseMs,
    exportTimeoutMillis: 2 * exportLimitMs,
  });

  return {
    keep: (run) => {
      const { spans } = run;
      if (waiting + spans.length > maxWaiting) {
        count('dropped', spans.length);
        lost += spans.length;
        return;
      }
      waiting += spans.length;
      const scope = { name: 'csi-sidecars', version: options.version };
      const resource = options.resource();
      for (const span of spans) batches.onEnd(readable(run, span, { scope, resource }));
    },
    close: async () => {
      const late = Promise.withResolvers<void>();
      using _ = clock.timer(closeLimitMs, late.resolve);
      await Promise.race([batches.shutdown().catch(() => undefined), late.promise]);
    },
  };
}

/** Never the text of the answer, which is the collector's. */
function reasonOf(error: Error | undefined): string {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  if (typeof code === 'number') return `HTTP status ${code}`;
  return typeof code === 'string' && /^[A-Z_0-9]+$/.test(code) ? code : 'no answer, or one that is not understood';
}

interface Origin {
  readonly scope: ReadableSpan['instrumentationScope'];
  readonly resource: Resource;
}

function readable(
  { traceId, links }: RecordedRun,
  { name, kind, spanId, parentId, startMs, endMs, result, attributes }: RecordedSpan,
  { scope, resource }: Origin,
): ReadableSpan {
  // What is exported is marked as sampled: the collector gets it whatever the decision at its begin was.
  const contextOf = (id: string) => ({ traceId, spanId: id, traceFlags: TraceFlags.SAMPLED });
  const context = contextOf(spanId);
  return {
    name,
    kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => context,
    ...(parentId === undefined ? {} : { parentSpanContext: contextOf(parentId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(endMs - startMs),
    status: { code: result === 'failed' ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: attributes,
    links:
      parentId === undefined
        ? links.map((link) => ({ context: { ...link, traceFlags: TraceFlags.NONE, isRemote: true } }))
        : [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function hrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
