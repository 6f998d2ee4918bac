// SPDX-License-Identifier: Apache-2.0
/** The HTTP server of a controller: the page that Prometheus reads, beside the routes of the program. */
import type { Clock } from '../clock/clock.ts';
import { type DiagnosticsServer, type HttpRoute, startDiagnosticsServer } from '../diagnostics/diagnostics-server.ts';
import type { LineWriter } from '../log/line-writer.ts';
import type { Logger } from '../log/logger.ts';
import { countedScrapes } from '../metrics/counted-scrapes.ts';
import type { ScrapedMetrics } from '../metrics/metrics.ts';
import { metricsRoute } from '../metrics/route.ts';

export interface ServeDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ScrapedMetrics;
  readonly logWriter: Pick<LineWriter, 'dropped'>;
}

export interface ServeOptions {
  /** See `parseListenAddress`. */
  readonly address: string;
  readonly metricsPath: string;
  /** Start of the process, in milliseconds since the epoch. */
  readonly startedAtMs: number;
  /**
   * The name of the metric that counts dropped lines of the log. Without it the page shows nothing but the metrics of the program and the
   * start of the process.
   */
  readonly droppedLinesMetric?: string;
  /** A route of the same path as an earlier one replaces it. */
  readonly routes: readonly HttpRoute[];
}

/** Rejects when the address cannot be listened on. */
export async function serveDiagnostics(
  { clock, logger, metrics, logWriter }: ServeDeps,
  { address, metricsPath, startedAtMs, droppedLinesMetric, routes }: ServeOptions,
): Promise<DiagnosticsServer> {
  const page =
    droppedLinesMetric === undefined
      ? metricsRoute(metrics, { path: metricsPath, startedAtMs, processMetrics: 'start' })
      : countedPage({ metrics, logWriter }, { path: metricsPath, startedAtMs, droppedLinesMetric });
  const server = await startDiagnosticsServer({ address, routes: [page, ...routes], logger, clock });
  logger.info(0, 'ServeMux listening', { address });
  return server;
}

function countedPage(
  { metrics, logWriter }: Pick<ServeDeps, 'metrics' | 'logWriter'>,
  {
    droppedLinesMetric,
    ...page
  }: { readonly path: string; readonly startedAtMs: number; readonly droppedLinesMetric: string },
): HttpRoute {
  metrics.gauge({
    name: droppedLinesMetric,
    help: 'Log lines that were dropped because their reader was too slow.',
    collect: () => [{ labels: {}, value: logWriter.dropped }],
  });
  return countedScrapes(metricsRoute(metrics, page), metrics);
}

/** `/healthz/leader-election`, word for word as upstream: the name of the lease is empty there. */
export function leaderHealthRoute(isHealthy: () => boolean): HttpRoute {
  return {
    path: '/healthz/leader-election',
    methods: 'any',
    handler: () =>
      isHealthy()
        ? { status: 200, body: 'ok' }
        : { status: 500, body: 'internal server error: failed election to renew leadership on lease \n' },
  };
}
