// SPDX-License-Identifier: Apache-2.0
/** The paths that every sidecar with an HTTP endpoint serves, whoever leads. */
import type { HttpRoute } from '@csi-sidecars/runtime';
import { textContentType } from '../metrics/content-type.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';

export function metricsRoute(path: string, registry: Pick<MetricsRegistry, 'text'>): HttpRoute {
  return {
    path,
    handler: async () => ({ status: 200, headers: { 'content-type': textContentType }, body: await registry.text() }),
  };
}

/** Green on a standby from the first probe on: only a leader that cannot renew its lease is unhealthy. */
export function leaderElectionRoute(isHealthy: () => boolean, lease: string): HttpRoute {
  return {
    path: '/healthz/leader-election',
    methods: 'any',
    handler: () =>
      isHealthy()
        ? { status: 200, body: 'ok' }
        : {
            status: 500,
            body: `internal server error: failed election to renew leadership on lease ${lease}\n`,
          },
  };
}
