// SPDX-License-Identifier: Apache-2.0
import type { HttpRoute } from '../diagnostics/diagnostics-server.ts';

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
