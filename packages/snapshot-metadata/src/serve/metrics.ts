// SPDX-License-Identifier: Apache-2.0
/**
 * The metrics of requests and streams. The labels of upstream's histogram stay; the values that come from a caller are empty unless they
 * are asked for, and then there are at most a hundred of them, so that no caller makes the page of metrics grow.
 */
import { type CallMetrics, type Code, createCallMetrics } from '@csi-sidecars/csi';
import type { Metrics } from '@csi-sidecars/runtime';
import type { RefusedStep } from '../request/refusal.ts';

export interface FinishedRequest {
  readonly kind: 'allocated' | 'delta';
  readonly code: Code;
  readonly seconds: number;
  /** Known only of authorized requests. */
  readonly target: string | undefined;
  readonly base: string | undefined;
}

export interface StreamMetrics {
  /** The calls to the driver at the start. */
  readonly calls: Pick<CallMetrics, 'record' | 'setDriverName'>;
  finished(request: FinishedRequest): void;
  refused(step: RefusedStep): void;
  passedOn(passed: { readonly messages: number; readonly blocks: number }): void;
  streams(running: number): void;
  certificateExpires(atMs: number): void;
}

const subsystem = 'snapshot_metadata_controller';
const mostNames = 100;
const operations = { allocated: 'MetadataAllocated', delta: 'MetadataDelta' } as const;

export function createStreamMetrics(
  metrics: Metrics,
  { names }: { readonly names: 'shown' | 'hidden' },
): StreamMetrics {
  const labelNames = ['target_snapshot', 'base_snapshot'] as const;
  const calls = createCallMetrics(metrics, { subsystem, labelNames });
  const streams = metrics.gauge({ name: `${subsystem}_streams`, help: 'Streams that are being served.' });
  const messages = metrics.counter({ name: `${subsystem}_messages_total`, help: 'Messages passed on to callers.' });
  const blocks = metrics.counter({ name: `${subsystem}_blocks_total`, help: 'Blocks passed on to callers.' });
  const refused = metrics.counter({
    name: `${subsystem}_refused_total`,
    help: 'Requests that were refused, by the step that refused them.',
    labels: ['step'],
  });
  const expires = metrics.gauge({
    name: `${subsystem}_certificate_expiry_seconds`,
    help: 'When the certificate in use expires, in seconds since 1970.',
  });
  const shown = labelNames.map(() => new Set<string>());
  const bounded = (index: number, value: string | undefined): string => {
    const known = shown[index];
    if (names === 'hidden' || value === undefined || value === '' || known === undefined) return '';
    if (known.size < mostNames) known.add(value);
    return known.has(value) ? value : 'other';
  };
  return {
    calls,
    finished: ({ kind, code, seconds, target, base }) => {
      const values = { target_snapshot: bounded(0, target), base_snapshot: bounded(1, base) };
      calls.withLabelValues(values).record({ method: operations[kind], code, seconds });
    },
    refused: (step) => refused.inc({ step }),
    passedOn: (passed) => {
      messages.inc({}, passed.messages);
      blocks.inc({}, passed.blocks);
    },
    streams: (running) => streams.set(running),
    certificateExpires: (atMs) => expires.set(Math.round(atMs / 1000)),
  };
}
