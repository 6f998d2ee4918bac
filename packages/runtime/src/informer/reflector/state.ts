// SPDX-License-Identifier: Apache-2.0
/**
 * The reflector: keeps a copy of a collection up to date by list and watch. Its states, and how they follow each other
 * (`step.ts` is the only way to move; the driver does what a state demands and feeds back what came of it):
 *
 *     cycle -> openingStream -> streaming ----------------> watching -> waiting -> openingWatch -> watching ...
 *                    |              |   initial events end      |
 *                    +--------------+--> listing -> openingWatch    (not streamed: one page after the other)
 *
 * | state         | demands                  | leaves when                                                      |
 * |---------------|--------------------------|------------------------------------------------------------------|
 * | openingStream | a watch that lists first | it is open; refused or throttled: wait; expired: again without a |
 * |               |                          | version; anything else: list                                     |
 * | streaming     | its next event           | the initial events end: replace, watch on; closed: wait, again   |
 * | listing       | one page                 | last page: replace, watch; a page expired: all in one; else wait |
 * | openingWatch  | a watch                  | it is open; no answer or throttled: wait, again; else cycle      |
 * | watching      | its next event           | closed in a burst of changes: again at once; closed otherwise:   |
 * |               |                          | short pause, again; expired, undecodable: wait, cycle            |
 * | waiting       | a pause                  | it has passed                                                    |
 *
 * A cycle begins with a stream unless streaming is off or was refused as unsupported in the last 30 minutes.
 * Not here: I/O, time, randomness, the store, log lines (`log-step.ts`).
 */
import type { Change, WatchEvent } from '../decode/watch-event.ts';

/** What is known across states. */
export interface Knowledge {
  /** The last resource version observed; empty before the first sync. */
  readonly lastRv: string;
  /** The server reported that `lastRv` is expired or unknown, so the next request has no version. */
  readonly rvUnavailable: boolean;
  /** The first list came in pages although it asked for version 0: the server has no watch cache to answer from. */
  readonly paginated: boolean;
  /** The time at which the server refused to stream initial events because it does not know them. */
  readonly streamingRefusedAtMs: number | undefined;
  /** Backoff steps since the last evidence of health. */
  readonly failures: number;
  /** Watches in a row that the server ended with an internal error. */
  readonly serverFaults: number;
  readonly burst: Burst;
}

export type State =
  | { readonly kind: 'waiting'; readonly known: Knowledge; readonly pause: Pause; readonly then: Resumption }
  | { readonly kind: 'openingStream'; readonly known: Knowledge }
  | ({ readonly kind: 'streaming'; readonly known: Knowledge } & OpenWatch)
  | { readonly kind: 'listing'; readonly known: Knowledge; readonly listing: Listing }
  | { readonly kind: 'openingWatch'; readonly known: Knowledge }
  | WatchingState;

export interface WatchingState extends OpenWatch {
  readonly kind: 'watching';
  readonly known: Knowledge;
  /** Since when this stream has been a synced watch. */
  readonly sinceMs: number;
  /** False while events may be the unordered initial ones of a watch without a version: they do not move `lastRv`. */
  readonly ordered: boolean;
}

/** How many changes came lately, over watches that were reopened too. */
export interface Burst {
  readonly sinceMs: number;
  readonly changes: number;
}

export interface OpenWatch {
  readonly openedAtMs: number;
  readonly events: number;
}

/** `minMs` plus a random part of `spreadMs`. */
export interface Pause {
  readonly minMs: number;
  readonly spreadMs: number;
}

export type Resumption = 'cycle' | 'stream' | 'list' | 'watch';

export interface Listing {
  /** Token of the next page. */
  readonly page: PageRequest;
  /** What the first page asked for. */
  readonly requestedRv: string;
  /** Version of the first page, which is that of the whole list. */
  readonly firstRv: string | undefined;
}

export interface PageRequest {
  readonly resourceVersion: string;
  readonly limit: number | undefined;
  readonly continue: string | undefined;
}

/** What the driver has to do before the next step. */
export type Demand =
  | { readonly kind: 'wait'; readonly pause: Pause }
  | { readonly kind: 'watch'; readonly resourceVersion: string; readonly initialEvents: 'wanted' | 'none' }
  | { readonly kind: 'list'; readonly page: PageRequest }
  /** The next event of the open watch. */
  | { readonly kind: 'read' };

/** The outcome of the demanded work. */
export type Input =
  | { readonly kind: 'woke' }
  | { readonly kind: 'opened' }
  /** A watch could not be opened, or a page could not be read to its end. */
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'page'; readonly resourceVersion: string; readonly continue: string | undefined }
  | { readonly kind: 'event'; readonly event: WatchEvent }
  | { readonly kind: 'closed'; readonly cause: CloseCause; readonly error?: unknown };

export type CloseCause =
  | 'end' // by the server, between two events
  | 'truncated' // inside an event
  | 'broken' // the connection failed
  | 'overdue' // by us: open for longer than it asked for
  | 'silent'; // by us: the bookmarks stopped coming

/** The effects outside of the machine. */
export type Effect =
  /** Adds to the new content, which is not visible yet. */
  | { readonly kind: 'collect'; readonly change: Change }
  /** The collected content becomes the store's. */
  | { readonly kind: 'replace'; readonly resourceVersion: string }
  | { readonly kind: 'apply'; readonly change: Change }
  | { readonly kind: 'bookmark'; readonly resourceVersion: string };

export interface Step {
  readonly state: State;
  readonly effect?: Effect;
}

export interface StepContext {
  /** Monotonic. */
  readonly nowMs: number;
  readonly streaming: 'preferred' | 'off';
  /** Items per page of every list; by default only where it is needed. */
  readonly pageSize: number | undefined;
  /** Default `cached`. */
  readonly firstList?: 'cached' | 'current' | undefined;
}
