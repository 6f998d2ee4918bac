// SPDX-License-Identifier: Apache-2.0
/**
 * Which events are written, and how: client-go's EventCorrelator. Three stages, each with a memory of 4096 keys:
 *
 * | Stage | Key | Rule |
 * |---|---|---|
 * | aggregate | source, object, type, reason | the 10th distinct message within 10 min of the one before, and all others after it, become one event `(combined from similar events): <message>` |
 * | count | all of the event, with message and field path; or the key of its aggregate | seen before: a patch of the earlier event, with the count |
 * | spam | source, object, type | 25 at once, then one per 5 min; what is over is dropped, but was counted |
 *
 * Not here: writing, and the order of writes.
 */
import { LRUCache } from 'lru-cache';
import type { Event } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import { timestamp } from '../api/timestamp.ts';

const cacheSize = 4096;
const distinctMessages = 10;
const similarWindowMs = 600_000;
const spamBurst = 25;
const spamPeriodMs = 300_000;

/** Bounded by `maxSize` and not by `max`, which would allocate all entries at the start. */
const lru = <V extends object>(): LRUCache<string, V> => new LRUCache({ maxSize: cacheSize, sizeCalculation: () => 1 });

export type Correlated =
  | { readonly kind: 'dropped' }
  /** `update`: patch the earlier event of that name; it may never have been written, or be gone. */
  | { readonly kind: 'write'; readonly how: 'create' | 'update'; readonly event: Event; readonly key: string };

export interface Correlator {
  correlate(event: Event): Correlated;
  /** What the server made of a written event. */
  remember(key: string, written: Event): void;
}

export interface CorrelatorDeps {
  readonly clock: Clock;
  readonly nameFor: (involvedName: string) => string;
}

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Counted {
  readonly count: number;
  readonly name: string;
  readonly firstTimestamp: string | undefined;
}

interface Bucket {
  tokens: number;
  filledMs: number;
}

export function createCorrelator({ clock, nameFor }: CorrelatorDeps): Correlator {
  const similar = lru<Similar>();
  const counted = lru<Counted>();
  const buckets = lru<Bucket>();

  function aggregate(event: Event): { readonly event: Event; readonly key: string } {
    const nowMs = clock.monotonicMs();
    const aggregateKey = keyOf([
      ...sourceAndObject(event),
      event.type,
      event.reason,
      event.reportingComponent,
      event.reportingInstance,
    ]);
    const known = similar.get(aggregateKey);
    const group =
      known !== undefined && nowMs - known.lastMs <= similarWindowMs
        ? known
        : { messages: new Set<string>(), lastMs: nowMs };
    group.lastMs = nowMs;
    similar.set(aggregateKey, group);
    const { message = '' } = event;
    // The first nine keep their own events; what makes ten is not remembered, so it stays the tenth.
    if (group.messages.has(message) || group.messages.size < distinctMessages - 1) {
      group.messages.add(message);
      return {
        event,
        key: keyOf([...sourceAndObject(event), event.involvedObject.fieldPath, event.type, event.reason, message]),
      };
    }
    const { reportingComponent: _component, reportingInstance: _instance, ...rest } = event;
    const combined = {
      ...rest,
      metadata: { namespace: event.metadata.namespace ?? '', name: nameFor(event.involvedObject.name ?? '') },
      message: `(combined from similar events): ${message}`,
    };
    return { event: combined, key: aggregateKey };
  }

  function count(event: Event, key: string): Extract<Correlated, { kind: 'write' }> {
    const earlier = counted.get(key);
    const current: Event =
      earlier === undefined
        ? event
        : {
            ...event,
            metadata: { ...event.metadata, name: earlier.name },
            ...(earlier.firstTimestamp === undefined ? {} : { firstTimestamp: earlier.firstTimestamp }),
            lastTimestamp: timestamp(clock.nowMs()),
            count: earlier.count + 1,
          };
    remember(key, current);
    return { kind: 'write', how: earlier === undefined ? 'create' : 'update', event: current, key };
  }

  function isSpam(event: Event): boolean {
    const key = keyOf([...sourceAndObject(event), event.type]);
    const nowMs = clock.monotonicMs();
    const bucket = buckets.get(key) ?? { tokens: spamBurst, filledMs: nowMs };
    bucket.tokens = Math.min(spamBurst, bucket.tokens + (nowMs - bucket.filledMs) / spamPeriodMs);
    bucket.filledMs = nowMs;
    buckets.set(key, bucket);
    if (bucket.tokens < 1) return true;
    bucket.tokens -= 1;
    return false;
  }

  function remember(key: string, { metadata, count: times = 1, firstTimestamp }: Event): void {
    const { name = '' } = metadata;
    counted.set(key, { count: times, name, firstTimestamp });
  }

  return {
    remember,
    correlate: (event) => {
      const aggregated = aggregate(event);
      const write = count(aggregated.event, aggregated.key);
      return isSpam(write.event) ? { kind: 'dropped' } : write;
    },
  };
}

function sourceAndObject({ source, involvedObject: object }: Event): readonly (string | undefined)[] {
  return [source?.component, source?.host, object.kind, object.namespace, object.name, object.uid, object.apiVersion];
}

function keyOf(parts: readonly (string | undefined)[]): string {
  return parts.join('\0');
}
