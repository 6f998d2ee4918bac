// SPDX-License-Identifier: Apache-2.0
/** What events record: the newest failure, how often, since when, and when it will be tried again. */
import { codeNames } from '@csi-sidecars/csi';
import { type Event, events } from '@csi-sidecars/runtime';
import { type Reader, type Reading, valueOf } from '../cluster/reader.ts';
import type { Failure, ObjectName, Retry } from '../verdict.ts';
import { timeOf } from './objects.ts';

const mostEvents = 200;

async function readEvents(
  reader: Reader,
  { uid = '', namespace = 'default', name }: ObjectName,
): Promise<Reading<readonly Event[]>> {
  const query = { namespace, fieldSelector: `involvedObject.uid=${uid}`, size: mostEvents, most: 1 };
  return await reader.list(events, query, `what events say about ${name}`);
}

/** Events of one object, by its UID: events of an earlier object of the same name are not its events. */
export async function eventsOf(reader: Reader, object: ObjectName): Promise<readonly Event[]> {
  return valueOf(await readEvents(reader, object)) ?? [];
}

/** False: an event might say something else. */
export async function areEventsKnown(reader: Reader, object: ObjectName): Promise<boolean> {
  return (await readEvents(reader, object)).kind === 'found';
}

export function lastMs(event: Event): number | undefined {
  return (
    timeOf(event.series?.lastObservedTime) ??
    timeOf(event.lastTimestamp) ??
    timeOf(event.eventTime) ??
    timeOf(event.metadata.creationTimestamp)
  );
}

function firstMs(event: Event): number | undefined {
  return timeOf(event.firstTimestamp) ?? timeOf(event.eventTime) ?? timeOf(event.metadata.creationTimestamp);
}

/** Events that client-go has combined keep the newest text behind these words. */
const combined = /^\(combined from similar events\): /;

/** The newest warning with one of these reasons. The count is that of all of them, and the beginning that of the same code. */
export function failureOf(all: readonly Event[], reasons: readonly string[], object: ObjectName): Failure | undefined {
  const matching = all.filter(({ type, reason = '' }) => type === 'Warning' && reasons.includes(reason));
  const newest = matching.reduce<Event | undefined>(
    (found, event) => (found === undefined || (lastMs(event) ?? 0) >= (lastMs(found) ?? 0) ? event : found),
    undefined,
  );
  if (newest === undefined) return undefined;
  const text = textOf(newest);
  const code = codeIn(text);
  const same = matching.filter((event) => codeIn(textOf(event)) === code);
  const firsts = same.map(firstMs).filter((ms) => ms !== undefined);
  return {
    text,
    code,
    atMs: lastMs(newest),
    firstMs: firsts.length === 0 ? undefined : Math.min(...firsts),
    count: matching.reduce((sum, event) => sum + (event.series?.count ?? event.count ?? 1), 0),
    reason: newest.reason,
    source: newest.source?.component ?? newest.reportingComponent,
    object,
  };
}

export function textOf({ message = '' }: Event): string {
  return message.replace(combined, '');
}

/** `rpc error: code = InvalidArgument desc = ...`, as grpc-go prints it, and all sidecars hand it on. */
export function codeIn(text: string): number | undefined {
  const name = /\bcode = ([A-Za-z]+)\b/.exec(text)?.[1];
  const code = codeNames.findIndex((known) => known === name);
  return code === -1 ? undefined : code;
}

/** Of the program that tries again: `--retry-interval-start` and `--retry-interval-max`. */
export interface RetryIntervals {
  readonly startMs: number;
  readonly maxMs: number;
}

/** Of all sidecars. */
const defaultIntervals: RetryIntervals = { startMs: 1_000, maxMs: 300_000 };
/** After that many equal events a recorder lets one through in five minutes. */
const filteredFrom = 25;

export const afterBackoff = 'after its backoff';

/** When the next attempt may be expected. Known from outside only within bounds. */
export function retryOf(failure: Failure, { startMs, maxMs }: RetryIntervals = defaultIntervals): Retry {
  const { atMs, count } = failure;
  if (atMs === undefined) return { will: 'yes', earliestMs: undefined, latestMs: undefined, because: afterBackoff };
  const isFiltered = count >= filteredFrom;
  const delayMs = isFiltered ? maxMs : Math.min(maxMs, startMs * 2 ** Math.min(count, 20));
  return { will: 'yes', earliestMs: atMs, latestMs: atMs + Math.round(delayMs * 1.1), because: afterBackoff };
}
