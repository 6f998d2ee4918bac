// SPDX-License-Identifier: Apache-2.0
/** The HTTPS server: /convert for the API server, /readyz for kubelet. The limits are what the memory limit of the chart allows, of 256 MiB. */
import type { Clock, Logger } from '@csi-sidecars/runtime';
import { type Pair, startWebhookServer, type WebhookLimits, type WebhookServer } from '@csi-sidecars/runtime/internal';
import { groupContents } from './review.ts';

/** A few connections are enough for the API servers and kubelet. A conversion is synchronous, so none waits for another; a signal ends the program at once. */
const limits: WebhookLimits = {
  connections: 64,
  bytes: 4 * 1024 * 1024,
  reviews: 64,
  reviewMs: 30_000,
  silenceMs: 10_000,
  idleMs: 10_000,
  drainMs: 0,
};

/** Listens on all addresses; rejects when that is not possible. */
export function startServer(
  deps: { readonly log: Logger; readonly clock: Clock },
  { port, pair }: { readonly port: number; readonly pair: Pair },
): Promise<WebhookServer> {
  return startWebhookServer(deps, { webhooks: [groupContents], listen: { port }, pair, limits });
}
