// SPDX-License-Identifier: Apache-2.0
/** A certificate that expires is still served, because a later one may come at any time. It is logged an hour apart, from a day before. */
import { X509Certificate } from 'node:crypto';
import type { Clock, Logger } from '@csi-sidecars/runtime';
import type { Pair } from '@csi-sidecars/runtime/internal';

const hourMs = 3_600_000;
const earlyMs = 24 * hourMs;

export interface ExpiryPorts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: { readonly certificateExpires: (atMs: number) => void };
}

/** Looks at the pair in use once an hour until the signal aborts. Never rejects. */
export async function watchExpiry(
  { clock, log, metrics }: ExpiryPorts,
  current: () => Pair,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const expiresAtMs = Date.parse(new X509Certificate(current().cert).validTo);
    metrics.certificateExpires(expiresAtMs);
    const leftMs = expiresAtMs - clock.nowMs();
    const expiresAt = new Date(expiresAtMs).toISOString();
    if (leftMs <= 0) log.warn('The TLS certificate has expired', { expiresAt });
    else if (leftMs <= earlyMs) log.warn('The TLS certificate expires soon', { expiresAt });
    await clock.sleep(hourMs, signal).catch(() => undefined);
  }
}
