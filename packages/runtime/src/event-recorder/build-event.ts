// SPDX-License-Identifier: Apache-2.0
/** Builds an Event for the API server from what a controller reports. */
import { definedOnly } from '../api/defined-only.ts';
import { timestamp } from '../api/timestamp.ts';
import type { Event, KubeObject } from '../api/objects.ts';
import { apiVersionOf, events } from '../api/resource.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { RecordedEvent } from './recorder.ts';

export interface EventSource {
  readonly component: string;
  /** Empty in the sidecars. */
  readonly host: string;
}

export type BuildResult =
  | { readonly kind: 'event'; readonly event: Event }
  | { readonly kind: 'refused'; readonly because: string };

export interface EventBuilder {
  readonly build: (regarding: KubeObject, recorded: RecordedEvent) => BuildResult;
  /** A name that no other event on that object has. */
  readonly nameFor: (involvedName: string) => string;
}

export function createEventBuilder(
  deps: { readonly clock: Clock; readonly random: Random },
  source: EventSource,
): EventBuilder {
  const { clock, random } = deps;
  let lastNanos = 0n;
  let fraction: bigint | undefined;

  /**
   * Unix nanoseconds, as upstream's. The digits below the precision of the clock differ between recorders, so that names do
   * not collide.
   */
  function nextNanos(): bigint {
    fraction ??= BigInt(Math.floor(random.next() * 1e6));
    const now = BigInt(Math.floor(clock.nowMs())) * 1_000_000n + fraction;
    lastNanos = now > lastNanos ? now : lastNanos + 1n;
    return lastNanos;
  }

  function nameFor(involvedName: string): string {
    const name = `${involvedName}.${nextNanos().toString(16)}`;
    return isSubdomain(name) ? name : random.uuid();
  }

  return {
    nameFor,
    build: ({ apiVersion, kind, metadata }, { type, reason, message, fieldPath, name: sharedName, annotations }) => {
      if (type !== 'Normal' && type !== 'Warning') return { kind: 'refused', because: 'Unsupported event type' };
      if (apiVersion === undefined || kind === undefined || metadata?.name === undefined) {
        return { kind: 'refused', because: 'Could not construct reference, will not report event' };
      }
      const { name, namespace, uid, resourceVersion } = metadata;
      const now = timestamp(clock.nowMs());
      return {
        kind: 'event',
        event: {
          apiVersion: apiVersionOf(events),
          kind: events.kind,
          metadata: definedOnly({ name: sharedName ?? nameFor(name), namespace: namespace ?? 'default', annotations }),
          involvedObject: definedOnly({ apiVersion, kind, namespace, name, uid, resourceVersion, fieldPath }),
          type,
          reason,
          message,
          source: source.host === '' ? { component: source.component } : source,
          reportingComponent: source.component,
          reportingInstance: source.host,
          firstTimestamp: now,
          lastTimestamp: now,
          count: 1,
        },
      };
    },
  };
}

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

function isSubdomain(name: string): boolean {
  return name.length <= 253 && subdomain.test(name);
}
