// SPDX-License-Identifier: Apache-2.0
/** How the parts of a request's way are put together, with the clients that each of them uses. */
import type { ApiClient } from '@csi-sidecars/runtime';
import { createReviews } from '../request/reviews.ts';
import type { Settings } from '../settings.ts';
import { createHandler, type Handler, type HandlerDeps } from './handler.ts';
import { createStreamLimits } from './stream-limits.ts';

/** Each has a rate limit of its own. */
export interface Clients {
  /** TokenReviews. */
  readonly tokens: ApiClient;
  /** SubjectAccessReviews and Secrets. */
  readonly core: ApiClient;
  /** Objects of the snapshot API. */
  readonly snapshots: ApiClient;
  /** SnapshotMetadataServices. */
  readonly services: ApiClient;
}

export interface ServiceDeps extends Omit<HandlerDeps, 'reviews' | 'limits' | 'clients'> {
  readonly clients: Clients;
}

export function createService(deps: ServiceDeps, settings: Settings, driverName: string): Handler {
  const { clients, metrics } = deps;
  const reviews = createReviews(clients, { driverName, audience: settings.audience });
  const limits = createStreamLimits(settings, (running) => metrics.streams(running));
  return createHandler({ ...deps, reviews, limits }, { driverName, maxDurationMs: settings.maxDurationMs });
}
