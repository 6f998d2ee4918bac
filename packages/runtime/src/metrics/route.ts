// SPDX-License-Identifier: Apache-2.0
/** The page that Prometheus reads, with the families of the process beside the program's own. */
import type { HttpRoute } from '../diagnostics/diagnostics-server.ts';
import { sharedHandler } from '../diagnostics/shared-handler.ts';
import type { ScrapedMetrics } from './metrics.ts';
import { registerProcessMetrics, registerStartTime } from './process-metrics.ts';

export interface MetricsRouteOptions {
  readonly path: string;
  readonly startedAtMs: number;
  /** `start`: of the families of the process only its start. Default: all. */
  readonly processMetrics?: 'start';
}

export function metricsRoute(
  metrics: ScrapedMetrics,
  { path, startedAtMs, processMetrics }: MetricsRouteOptions,
): HttpRoute {
  if (processMetrics === 'start') registerStartTime(metrics, startedAtMs);
  else registerProcessMetrics(metrics, startedAtMs);
  const headers = {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'process-start-time-unix': String(Math.floor(startedAtMs / 1000)),
  };
  return { path, handler: sharedHandler(async () => ({ status: 200, headers, body: await metrics.text() })) };
}
