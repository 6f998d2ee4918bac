// SPDX-License-Identifier: Apache-2.0
import type { HttpRoute } from '../diagnostics/diagnostics-server.ts';
import type { Metrics } from './metrics.ts';

/** The route, and how often it was asked, in the families of Go's promhttp. A scrape is counted when it is over, as there. */
export function countedScrapes(route: HttpRoute, metrics: Metrics): HttpRoute {
  const scrapes = metrics.counter({
    name: 'promhttp_metric_handler_requests_total',
    help: 'Total number of scrapes by HTTP status code.',
    labels: ['code'],
  });
  for (const code of ['200', '500', '503']) scrapes.inc({ code }, 0);
  let inFlight = 0;
  metrics.gauge({
    name: 'promhttp_metric_handler_requests_in_flight',
    help: 'Current number of scrapes being served.',
    collect: () => [{ labels: {}, value: inFlight }],
  });
  return {
    ...route,
    handler: async (request) => {
      let code = 500;
      inFlight += 1;
      try {
        const response = await route.handler(request);
        code = response.status;
        return response;
      } finally {
        inFlight -= 1;
        scrapes.inc({ code: String(code) });
      }
    },
  };
}
