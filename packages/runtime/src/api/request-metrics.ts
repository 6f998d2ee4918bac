// SPDX-License-Identifier: Apache-2.0
/**
 * The metrics of Kubernetes' own clients, under their names. The Go sidecars do not expose them; ours may. One set serves
 * all clients of a process that talk to one server.
 */
import type { Metrics } from '../metrics/metrics.ts';

export interface RequestMetrics {
  /** Called for each answer, and for each exchange without an answer, with the code `<error>`. */
  readonly exchanged: (exchange: { readonly method: string; readonly code: string; readonly ms: number }) => void;
  readonly limited: (wait: { readonly method: string; readonly ms: number }) => void;
  readonly retried: (attempt: { readonly method: string; readonly code: string }) => void;
}

/** The code label of an exchange without an answer. */
export const noAnswer = '<error>';

const buckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export function createRequestMetrics(metrics: Metrics, host: string): RequestMetrics {
  const requests = metrics.counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labels: ['code', 'method', 'host'],
  });
  const durations = metrics.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labels: ['verb', 'host'],
    buckets,
  });
  const waits = metrics.histogram({
    name: 'rest_client_rate_limiter_duration_seconds',
    help: 'Client side rate limiter latency in seconds. Broken down by verb, and host.',
    labels: ['verb', 'host'],
    buckets,
  });
  const retries = metrics.counter({
    name: 'rest_client_request_retries_total',
    help: 'Number of request retries, partitioned by status code, verb, and host.',
    labels: ['code', 'verb', 'host'],
  });
  return {
    exchanged: ({ method, code, ms }) => {
      requests.inc({ code, method, host });
      durations.observe(ms / 1000, { verb: method, host });
    },
    limited: ({ method, ms }) => waits.observe(ms / 1000, { verb: method, host }),
    retried: ({ method, code }) => retries.inc({ code, verb: method, host }),
  };
}
