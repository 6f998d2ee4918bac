// SPDX-License-Identifier: Apache-2.0
/**
 * One watch: a cursor over the change log of a collection.
 *
 * Guarantees: frames are made when the consumer asks, so a slow consumer costs nothing but history; a cursor that falls
 * behind a compaction ends with an ERROR frame (410); bookmarks come only when everything before them was delivered.
 * Life: initial objects (when the request wants them), the initial-events-end bookmark (sendInitialEvents), changes and
 * bookmarks, and the end by timeout, by `close` or by the consumer.
 */
import { expired, forbiddenField, invalid, statusBody, tooLargeResourceVersion, type Refusal } from './status.ts';
import { collectionId, groupVersion, type ResourceType } from './resource-type.ts';
import { encodeJson } from './json.ts';
import { listOptions, parseRevision, selection } from './list.ts';
import { represent, type Representation } from './representation.ts';
import { TransportError } from '../../src/api/transport.ts';
import type { Change, Collection, Store, StoredObject } from './store.ts';
import type { Clock, Timer } from '../../src/clock/clock.ts';
import type { Predicate } from './selectors.ts';
import type { Random } from '../../src/clock/random.ts';
import type { Route } from './route.ts';

const bookmarkPeriodMs = 60_000;
/** A last bookmark comes this long before the server ends the watch. */
const lastBookmarkMs = 2_000;
const minimumTimeoutMs = 1_800_000;

export interface WatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly watchList: 'supported' | 'unsupported';
}

export interface WatchRequest {
  readonly type: ResourceType;
  readonly route: Route;
  readonly as: Representation;
  readonly signal: AbortSignal;
}

export interface Watch {
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the stream as a server does that shuts down; `broken` cuts the connection instead. */
  readonly close: (how: 'clean' | 'broken') => void;
}

type End = { readonly kind: 'clean' } | { readonly kind: 'failed'; readonly error: TransportError };

interface Start {
  readonly initial: readonly StoredObject[];
  /** Index into the log; undefined if the watch only sends `refusal`. */
  readonly cursor: number | undefined;
  readonly marksEnd: boolean;
  readonly refusal?: Refusal;
}

/** The state of a watch that changes. */
interface Progress {
  /** Index of the next change to look at; undefined when there is none because an error ends the watch. */
  cursor: number | undefined;
  readonly pending: object[];
  bookmarkDue: boolean;
  end: End | undefined;
  /** Lets a waiting `next()` look again. */
  wake: (() => void) | undefined;
}

export function openWatch(deps: WatchDeps, request: WatchRequest, ended: () => void): Watch {
  const { store, clock } = deps;
  const { type, route, as } = request;
  const selects = selection(type, route);
  const start = planStart(deps, request, selects);
  const collection = store.collection(collectionId(type));
  const bookmarks = ['1', 'true'].includes(route.query.get('allowWatchBookmarks') ?? '');
  const timeoutMs =
    Number(route.query.get('timeoutSeconds') ?? '0') * 1000 || minimumTimeoutMs * (1 + deps.random.next());

  const pending: object[] = start.initial.map((object) => ({ type: 'ADDED', object: represent(type, object, as) }));
  if (start.marksEnd && bookmarks) pending.push(bookmark(type, store.revision(), 'end of initial events'));
  if (start.refusal !== undefined) pending.push(errorFrame(start.refusal));
  const progress: Progress = { cursor: start.cursor, pending, bookmarkDue: false, end: undefined, wake: undefined };

  function signalConsumer(): void {
    progress.wake?.();
    progress.wake = undefined;
  }
  function finish(how: End): void {
    if (progress.end !== undefined) return;
    progress.end = how;
    subscription[Symbol.dispose]();
    for (const timer of timers) timer.cancel();
    request.signal.removeEventListener('abort', aborted);
    ended();
    signalConsumer();
  }
  function aborted(): void {
    const error = new TransportError('aborted', 'the watch was aborted', { cause: request.signal.reason });
    finish({ kind: 'failed', error });
  }
  function arm(ms: number, fire: () => void): void {
    const timer = clock.timer(ms, () => {
      timers.delete(timer);
      fire();
    });
    timers.add(timer);
  }
  function markProgress(): void {
    progress.bookmarkDue = true;
    signalConsumer();
  }
  function markRepeatedly(): void {
    arm(bookmarkPeriodMs, () => {
      markProgress();
      markRepeatedly();
    });
  }

  const subscription = collection.subscribe(signalConsumer);
  const timers = new Set<Timer>();
  arm(timeoutMs, () => finish({ kind: 'clean' }));
  if (bookmarks) {
    markRepeatedly();
    if (timeoutMs > lastBookmarkMs) arm(timeoutMs - lastBookmarkMs, markProgress);
  }
  request.signal.addEventListener('abort', aborted, { once: true });

  function nextFrame(): object | undefined {
    const first = progress.pending.shift();
    if (first !== undefined) return first;
    while (progress.cursor !== undefined) {
      const change = collection.change(progress.cursor);
      if (change === 'compacted') {
        progress.cursor = undefined;
        return errorFrame(tooOld(0, collection));
      }
      if (change === undefined) return progressFrame();
      progress.cursor += 1;
      const frame = frameOf(change, selects, (object) => represent(type, object, as));
      if (frame !== undefined) return frame;
    }
    finish({ kind: 'clean' });
    return undefined;
  }
  function progressFrame(): object | undefined {
    if (!progress.bookmarkDue) return undefined;
    progress.bookmarkDue = false;
    return bookmark(type, store.revision(), 'progress');
  }

  async function next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const frame = progress.end === undefined ? nextFrame() : undefined;
      if (frame !== undefined) return { done: false, value: frameBytes(frame) };
      if (progress.end?.kind === 'failed') throw progress.end.error;
      if (progress.end !== undefined) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        progress.wake = resolve;
      });
    }
  }
  async function endByConsumer(): Promise<IteratorResult<Uint8Array>> {
    finish({ kind: 'clean' });
    return { done: true, value: undefined };
  }

  return {
    body: { [Symbol.asyncIterator]: () => ({ next, return: endByConsumer }) },
    close(how) {
      if (how === 'clean') finish({ kind: 'clean' });
      else finish({ kind: 'failed', error: new TransportError('eof', 'the connection was cut') });
    },
  };
}

function frameBytes(frame: object): Uint8Array {
  return Buffer.concat([encodeJson(frame), newline]);
}

const newline = Buffer.from('\n');

/** An object that leaves the selection is DELETED for this watch, one that enters it is ADDED. */
function frameOf(change: Change, selects: Predicate, show: (object: StoredObject) => object): object | undefined {
  const before = change.previous !== undefined && selects(change.previous);
  const after = change.type !== 'DELETED' && selects(change.object);
  if (!before && !after) return undefined;
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', object: show(change.object) };
  const { previous } = change;
  if (previous === undefined) return undefined;
  const resourceVersion = String(change.revision);
  const last: StoredObject = { ...previous, metadata: { ...previous.metadata, resourceVersion } };
  return { type: 'DELETED', object: show(last) };
}

function bookmark(type: ResourceType, revision: number, why: 'progress' | 'end of initial events'): object {
  const marks = why === 'progress' ? {} : { annotations: { 'k8s.io/initial-events-end': 'true' } };
  const metadata = { resourceVersion: String(revision), ...marks };
  return { type: 'BOOKMARK', object: { kind: type.kind, apiVersion: groupVersion(type), metadata } };
}

/** A watch is refused within its stream: the answer was 200 by then. */
function errorFrame(refusal: Refusal): object {
  return { type: 'ERROR', object: statusBody(refusal.facts) };
}

function tooOld(asked: number, collection: Collection): Refusal {
  return expired(`too old resource version: ${asked} (${collection.oldestRevision()})`);
}

function planStart(deps: WatchDeps, request: WatchRequest, selects: Predicate): Start {
  const { store } = deps;
  const { query } = request.route;
  const collection = store.collection(collectionId(request.type));
  const asked = parseRevision(query.get('resourceVersion'), 'watch');
  const streamed = query.get('sendInitialEvents');
  checkWatchOptions(deps, query);
  if (streamed === 'true' && asked !== undefined && asked > store.revision()) {
    const refusal = tooLargeResourceVersion(asked, store.revision());
    return { initial: [], cursor: undefined, marksEnd: false, refusal };
  }
  const wantsState = streamed === null ? asked === undefined || asked === 0 : streamed === 'true';
  const current = collection.seek(store.revision());
  if (wantsState) {
    const initial = (collection.list() ?? []).filter(selects);
    return { initial, cursor: current, marksEnd: streamed === 'true' };
  }
  if (asked === undefined || asked === 0) return { initial: [], cursor: current, marksEnd: false };
  const cursor = collection.seek(asked);
  const outcome = { initial: [], cursor, marksEnd: false };
  return cursor === undefined ? { ...outcome, refusal: tooOld(asked, collection) } : outcome;
}

function checkWatchOptions(deps: WatchDeps, query: URLSearchParams): void {
  const match = query.get('resourceVersionMatch') ?? '';
  const streamed = query.get('sendInitialEvents');
  const refuse = (field: string, detail: string): never => {
    throw invalid(listOptions, '', [forbiddenField(field, detail)]);
  };
  if (streamed === null) {
    if (match !== '')
      refuse(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      );
    return;
  }
  if (deps.watchList === 'unsupported') {
    refuse(
      'sendInitialEvents',
      'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
    );
  }
  if (match !== 'NotOlderThan') {
    refuse('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
}
