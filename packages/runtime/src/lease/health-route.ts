// SPDX-License-Identifier: Apache-2.0
import type { HttpRoute } from '../diagnostics/diagnostics-server.ts';
import type { LeaderElector } from './leader-elector.ts';

/** `/healthz/leader-election`, word for word as upstream: the name of the lease is empty there. */
export function leaderHealthRoute(elector: Pick<LeaderElector, 'isHealthy'>): HttpRoute {
  return {
    path: '/healthz/leader-election',
    methods: 'any',
    handler: () =>
      elector.isHealthy
        ? { status: 200, body: 'ok' }
        : { status: 500, body: 'internal server error: failed election to renew leadership on lease \n' },
  };
}
