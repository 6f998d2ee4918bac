// SPDX-License-Identifier: Apache-2.0
/** The families of controller-runtime about its webhooks, by their paths. Served by `runController` only. */
import type { Clock } from '../clock/clock.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** Called with the path of a request that begins. Returns what is called at its end; undefined: the client went away without an answer. */
export type ReviewCounter = (path: string) => (code: number | undefined) => void;

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Registers the families, once per registry. */
export function createReviewCounter(
  clock: Pick<Clock, 'monotonicMs'>,
  metrics: Metrics,
  paths: readonly string[],
): ReviewCounter {
  const inFlight = new Map(paths.map((path) => [path, 0]));
  const family = (name: string, help: string) => ({
    name: `controller_runtime_webhook_${name}`,
    help,
    labels: ['webhook'],
  });
  const requests = metrics.counter({
    ...family('requests_total', 'Total number of admission requests by HTTP status code.'),
    labels: ['webhook', 'code'],
  });
  const latency = metrics.histogram({
    ...family('latency_seconds', 'Histogram of the latency of processing admission requests'),
    buckets,
  });
  metrics.gauge({
    ...family('requests_in_flight', 'Current number of admission requests being served.'),
    collect: () => inFlight.entries().map(([webhook, value]) => ({ labels: { webhook }, value })),
  });
  for (const webhook of paths) requests.inc({ webhook, code: '200' }, 0);
  const add = (path: string, by: number) => inFlight.set(path, (inFlight.get(path) ?? 0) + by);
  return (webhook) => {
    add(webhook, 1);
    const startedMs = clock.monotonicMs();
    return (code) => {
      add(webhook, -1);
      latency.observe((clock.monotonicMs() - startedMs) / 1000, { webhook });
      if (code !== undefined) requests.inc({ webhook, code: String(code) });
    };
  };
}
