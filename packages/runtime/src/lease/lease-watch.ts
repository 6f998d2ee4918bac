// SPDX-License-Identifier: Apache-2.0
/**
 * A watch on the Lease of an election, so that a standby knows at once when the leader releases it, and exactly when its
 * record last changed. The stock roles of the sidecars allow it. If a role forbids it, or anything else fails, the election is
 * notified and polls instead, while the watch is opened again from time to time.
 *
 * Every watch begins with the Lease as it is (resource version 0), so nothing is missed between two of them.
 */
import type { ApiClient } from '../api/client.ts';
import { isForbidden } from '../api/error-predicates.ts';
import { collectionPath, withQuery } from '../api/resource-path.ts';
import { apiVersionOf, leases } from '../api/resource.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import { createFrameSplitter } from '../informer/decode/frame-splitter.ts';
import { decodeWatchEvent } from '../informer/decode/watch-event.ts';
import type { ElectionConfig } from './election-config.ts';
import type { LeaseChange } from './election-state.ts';

export interface LeaseWatchDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Pick<ElectionConfig, 'namespace' | 'name' | 'retryPeriodMs'>;
}

/** A watch that ends earlier than this counts as a failure. */
const shortestWatchMs = 1000;
/**
 * The pauses between two attempts while the watch fails. If it is forbidden, the longest pause applies at once, because roles
 * seldom change.
 */
const longestPauseMs = 300_000;
/** Upstream's reflectors ask for 5 to 10 minutes as well. */
const watchSeconds = 300;
/** A Lease is far smaller. */
const maxFrameBytes = 1 << 20;

const leaseKind = { apiVersion: apiVersionOf(leases), kind: leases.kind };

/** Follows the Lease until the signal aborts. Never rejects. */
export async function watchLease(
  deps: LeaseWatchDeps,
  onChange: (change: LeaseChange) => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, config } = deps;
  let failures = 0;
  while (!signal.aborted) {
    const openedMs = clock.monotonicMs();
    try {
      await follow(deps, onChange, signal);
      if (clock.monotonicMs() - openedMs < shortestWatchMs) throw new Error('the watch ended as soon as it had begun');
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      onChange({ kind: 'failed', error });
      failures += 1;
      const backoffMs = Math.min(longestPauseMs, config.retryPeriodMs * 2 ** (failures - 1));
      const pauseMs = isForbidden(error) ? longestPauseMs : backoffMs;
      await clock.sleep(pauseMs * (1 + 0.2 * random.next()), signal).catch(() => undefined);
    }
  }
}

/** One watch, until the server ends it. */
async function follow(
  { client, random, config }: LeaseWatchDeps,
  onChange: (change: LeaseChange) => void,
  signal: AbortSignal,
): Promise<void> {
  const path = withQuery(collectionPath(leases, config.namespace), {
    watch: true,
    fieldSelector: `metadata.name=${config.name}`,
    resourceVersion: '0',
    timeoutSeconds: Math.round(watchSeconds * (1 + random.next())),
  });
  const { body } = await client.stream({ purpose: 'watch', path }, signal);
  onChange({ kind: 'opened' });
  const frames = createFrameSplitter(maxFrameBytes);
  for await (const chunk of body) {
    frames.feed(chunk);
    for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
      const event = decodeWatchEvent(frame, leaseKind);
      if (event.kind === 'error' || event.kind === 'undecodable') throw event.error;
      if (event.kind !== 'change') continue;
      const { type, object } = event.change;
      onChange(type === 'DELETED' ? { kind: 'deleted' } : { kind: 'seen', lease: object });
    }
  }
}
