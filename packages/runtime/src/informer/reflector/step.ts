// SPDX-License-Identifier: Apache-2.0
/** The transitions of the reflector's machine; see `state.ts`. Pure. */
import type { Change, WatchEvent } from '../decode/watch-event.ts';
import { backOff, isInBurst, oneMore, reopenPause, withHealth } from './backoff.ts';
import { refusalOf } from './refusal.ts';
import type {
  Demand,
  Input,
  Knowledge,
  Listing,
  OpenWatch,
  Resumption,
  State,
  Step,
  StepContext,
  WatchingState,
} from './state.ts';

/** A server that does not know streaming lists is asked again after this time: it may have been upgraded. */
const streamingRefusedForMs = 30 * 60_000;
/** A stream that is closed after this time without the end of its initial events is not tried again in this cycle. */
const streamPatienceMs = 60_000;
const defaultPageSize = 500;
/** A watch that ends within this time without an event did not work. */
const veryShortMs = 1_000;
/** The number of successive watches that may end with an internal error before the collection is listed again. */
const maxServerFaults = 3;

const nothingKnown: Knowledge = {
  lastRv: '',
  rvUnavailable: false,
  paginated: false,
  streamingRefusedAtMs: undefined,
  failures: 0,
  serverFaults: 0,
  burst: { sinceMs: 0, changes: 0 },
};

export function firstState(context: StepContext): State {
  return resume('cycle', nothingKnown, context);
}

export function demandOf(state: State): Demand {
  switch (state.kind) {
    case 'waiting':
      return { kind: 'wait', pause: state.pause };
    case 'openingStream':
      return { kind: 'watch', resourceVersion: askableRv(state.known), initialEvents: 'wanted' };
    case 'listing':
      return { kind: 'list', page: state.listing.page };
    case 'openingWatch':
      return { kind: 'watch', resourceVersion: state.known.lastRv, initialEvents: 'none' };
    case 'streaming':
    case 'watching':
      return read;
  }
}

const read: Demand = { kind: 'read' };

export function step(state: State, input: Input, context: StepContext): Step {
  switch (state.kind) {
    case 'waiting':
      return { state: resume(state.then, state.known, context) };
    case 'openingStream':
      return { state: streamOpened(state, input, context) };
    case 'streaming':
      return input.kind === 'event'
        ? streamed(state, input.event, context)
        : { state: streamClosed(state, input, context) };
    case 'listing':
      return listed(state, input, context);
    case 'openingWatch':
      return { state: watchOpened(state, input, context) };
    case 'watching':
      return input.kind === 'event'
        ? watched(state, input.event, context)
        : { state: watchClosed(state, input, context) };
  }
}

function resume(then: Resumption, known: Knowledge, context: StepContext): State {
  switch (then) {
    case 'cycle':
      return resume(canStream(known, context) ? 'stream' : 'list', known, context);
    case 'stream':
      return { kind: 'openingStream', known };
    case 'list':
      return { kind: 'listing', known, listing: firstPage(known, context) };
    case 'watch':
      return { kind: 'openingWatch', known };
  }
}

function canStream(known: Knowledge, { streaming, nowMs }: StepContext): boolean {
  const refusedAtMs = known.streamingRefusedAtMs;
  return streaming === 'preferred' && (refusedAtMs === undefined || nowMs - refusedAtMs >= streamingRefusedForMs);
}

function askableRv(known: Knowledge): string {
  return known.rvUnavailable ? '' : known.lastRv;
}

// --- streaming list ---------------------------------------------------------------------------------------------------

function streamOpened({ known }: State, input: Input, context: StepContext): State {
  if (input.kind === 'opened') return { kind: 'streaming', known, openedAtMs: context.nowMs, events: 0 };
  return input.kind === 'failed' ? streamRefused(known, input.error, context) : unexpected('openingStream', input);
}

function streamRefused(known: Knowledge, error: unknown, context: StepContext): State {
  const refusal = refusalOf(error);
  switch (refusal) {
    case 'busy':
      return backOff(known, 'stream', error);
    case 'expired':
    case 'gone':
      // At once, but only once: a request without a version cannot be relaxed any further.
      if (askableRv(known) === '') return resume('list', known, context);
      return resume('stream', { ...known, rvUnavailable: true }, context);
    case 'unsupported':
      return resume('list', { ...known, streamingRefusedAtMs: context.nowMs }, context);
    case 'serverFault':
    case 'noAnswer':
    case 'other':
      return resume('list', known, context);
  }
}

type StreamingState = Extract<State, { readonly kind: 'streaming' }>;

function streamed(state: StreamingState, event: WatchEvent, context: StepContext): Step {
  switch (event.kind) {
    case 'change':
      return { state: counted(state), effect: { kind: 'collect', change: event.change } };
    case 'bookmark':
      return event.initialEventsEnd ? streamSynced(state, event.resourceVersion, context) : { state: counted(state) };
    case 'error':
      return { state: streamRefused(state.known, event.error, context) };
    case 'foreign':
    // What is missing in a collection counts as deleted: a list finds out what this is.
    case 'undecodable':
      return { state: resume('list', state.known, context) };
  }
}

function streamSynced(state: StreamingState, resourceVersion: string, { nowMs }: StepContext): Step {
  const known = synced(state.known, resourceVersion);
  const { openedAtMs, events } = counted(state);
  return {
    state: { kind: 'watching', known, openedAtMs, events, sinceMs: nowMs, ordered: true },
    effect: { kind: 'replace', resourceVersion },
  };
}

function streamClosed(state: StreamingState, input: Input, context: StepContext): State {
  if (input.kind !== 'closed') return unexpected('streaming', input);
  // A server without streaming lists may ignore the unknown parameter and stream without ever marking the end.
  const hadItsTime = context.nowMs - state.openedAtMs >= streamPatienceMs;
  return backOff(state.known, hadItsTime || isVeryShort(state, context) ? 'list' : 'stream');
}

// --- list -------------------------------------------------------------------------------------------------------------

function firstPage(known: Knowledge, { pageSize, firstList }: StepContext): Listing {
  // Version 0: whatever the server has in its cache. On a relist: at least what was seen, so time never runs backwards.
  const anyVersion = firstList === 'current' ? '' : '0';
  const resourceVersion = known.rvUnavailable ? '' : known.lastRv === '' ? anyVersion : known.lastRv;
  // A server answers a list of a given version from its cache only when it may do so in one piece.
  const fromCache = resourceVersion !== '' && resourceVersion !== '0' && !known.paginated;
  const limit = pageSize ?? (fromCache ? undefined : defaultPageSize);
  return { page: { resourceVersion, limit, continue: undefined }, requestedRv: resourceVersion, firstRv: undefined };
}

function listed(
  { known, listing }: Extract<State, { readonly kind: 'listing' }>,
  input: Input,
  context: StepContext,
): Step {
  if (input.kind === 'failed') return { state: listRefused({ known, listing }, input.error, context) };
  if (input.kind !== 'page') return unexpected('listing', input);
  const { page, requestedRv } = listing;
  const firstRv = listing.firstRv ?? input.resourceVersion;
  if (input.continue !== undefined) {
    // A token carries its version; naming one beside it is refused.
    const next = { resourceVersion: '', limit: page.limit, continue: input.continue };
    return { state: { kind: 'listing', known, listing: { page: next, requestedRv, firstRv } } };
  }
  const paginated = known.paginated || (requestedRv === '0' && page.continue !== undefined);
  return {
    state: { kind: 'openingWatch', known: { ...synced(known, firstRv), paginated } },
    effect: { kind: 'replace', resourceVersion: firstRv },
  };
}

function listRefused({ known, listing }: FailedList, error: unknown, context: StepContext): State {
  const { page, requestedRv } = listing;
  const refusal = refusalOf(error);
  if (refusal === 'expired' && page.continue !== undefined) {
    // The token did not live until its page was asked for: all in one piece, as of the version first asked for.
    const whole = { resourceVersion: requestedRv, limit: undefined, continue: undefined };
    return { kind: 'listing', known, listing: { page: whole, requestedRv, firstRv: undefined } };
  }
  if ((refusal === 'expired' || refusal === 'gone') && requestedRv !== '') {
    return resume('list', { ...known, rvUnavailable: true }, context);
  }
  return backOff(known, 'cycle', error);
}

interface FailedList {
  readonly known: Knowledge;
  readonly listing: Listing;
}

function synced(known: Knowledge, resourceVersion: string): Knowledge {
  return { ...known, lastRv: resourceVersion, rvUnavailable: false };
}

// --- watch ------------------------------------------------------------------------------------------------------------

function watchOpened({ known }: State, input: Input, { nowMs }: StepContext): State {
  if (input.kind === 'opened') {
    const ordered = known.lastRv !== '' && known.lastRv !== '0';
    return { kind: 'watching', known, openedAtMs: nowMs, sinceMs: nowMs, events: 0, ordered };
  }
  if (input.kind !== 'failed') return unexpected('openingWatch', input);
  const refusal = refusalOf(input.error);
  // The answer did not reject the version, so the next request uses it again.
  if (refusal === 'busy' || refusal === 'noAnswer') return backOff(known, 'watch', input.error);
  return refusal === 'serverFault' ? afterServerFault(known, input.error) : backOff(known, 'cycle', input.error);
}

function watched(state: WatchingState, event: WatchEvent, context: StepContext): Step {
  switch (event.kind) {
    case 'change':
      return { state: moved(state, event.change, context.nowMs), effect: { kind: 'apply', change: event.change } };
    case 'bookmark': {
      const { resourceVersion } = event;
      const known = withRv(state.known, resourceVersion);
      return { state: { ...counted(state), known, ordered: true }, effect: { kind: 'bookmark', resourceVersion } };
    }
    case 'foreign':
      return { state: counted(state) };
    case 'error':
      return { state: watchRefused(withHealth(state, context.nowMs), event.error) };
    case 'undecodable':
      return { state: backOff(withHealth(state, context.nowMs), 'cycle') };
  }
}

/** The hot path: one object per event. */
function moved(state: WatchingState, { type, object }: Change, nowMs: number): WatchingState {
  const ordered = state.ordered || type !== 'ADDED';
  const { openedAtMs, sinceMs, events } = state;
  const lastRv = (ordered ? object.metadata.resourceVersion : undefined) || state.known.lastRv;
  const known = { ...state.known, lastRv, burst: oneMore(state.known.burst, nowMs) };
  return { kind: 'watching', known, openedAtMs, sinceMs, events: events + 1, ordered };
}

/** An event without a version does not change the known one. */
function withRv(known: Knowledge, resourceVersion: string): Knowledge {
  return resourceVersion === '' ? known : { ...known, lastRv: resourceVersion };
}

function watchRefused(known: Knowledge, error: unknown): State {
  const refusal = refusalOf(error);
  if (refusal === 'busy') return backOff(known, 'watch', error);
  return refusal === 'serverFault' ? afterServerFault(known, error) : backOff(known, 'cycle', error);
}

function afterServerFault(known: Knowledge, error: unknown): State {
  const serverFaults = known.serverFaults + 1;
  if (serverFaults > maxServerFaults) return backOff({ ...known, serverFaults: 0 }, 'cycle', error);
  return backOff({ ...known, serverFaults }, 'watch', error);
}

function watchClosed(state: WatchingState, input: Input, context: StepContext): State {
  if (input.kind !== 'closed') return unexpected('watching', input);
  const known = withHealth(state, context.nowMs);
  if (isVeryShort(state, context)) return backOff(known, 'cycle');
  if (input.cause === 'end' && isInBurst(known.burst, context.nowMs)) return resume('watch', known, context);
  return { kind: 'waiting', known, pause: reopenPause(state, context.nowMs), then: 'watch' };
}

export function isVeryShort({ openedAtMs, events }: OpenWatch, { nowMs }: Pick<StepContext, 'nowMs'>): boolean {
  return events === 0 && nowMs - openedAtMs < veryShortMs;
}

function counted<T extends OpenWatch>(state: T): T {
  return { ...state, events: state.events + 1 };
}

function unexpected(state: State['kind'], input: Input): never {
  throw new Error(`reflector: ${input.kind} while ${state}`);
}
