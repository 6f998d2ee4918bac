// SPDX-License-Identifier: Apache-2.0
/**
 * One open watch: its events, and the guards that end it when the server's own close may have been lost on the way.
 *
 * Guarantees: whatever ends the stream is an input, never an exception; after `close` nothing of it is left, no timer, no
 * listener, no open stream.
 */
import type { ApiClient } from '../../api/client.ts';
import type { Clock, Timer } from '../../clock/clock.ts';
import { linkSignals } from '../../clock/deadline.ts';
import { readBody } from '../decode/body-reader.ts';
import { DecodeError } from '../decode/decode-error.ts';
import { createFrameSplitter } from '../decode/frame-splitter.ts';
import { decodeWatchEvent, type WireKind } from '../decode/watch-event.ts';
import type { CloseCause, Input } from './state.ts';
import type { Request } from './watch-request.ts';

export interface WatchStream {
  /** The next input if it has arrived, otherwise undefined. */
  take(): Input | undefined;
  /** The next input: an event, or the end. */
  next(): Promise<Input>;
  progress(): { readonly initialEventsEnded: boolean; readonly idleMs: number };
  close(): Promise<void>;
}

export interface WatchStreamDeps {
  readonly client: Pick<ApiClient, 'stream'>;
  readonly clock: Clock;
}

export interface WatchStreamOptions {
  readonly request: Request;
  /** What the request asks the server for. */
  readonly timeoutMs: number;
  /** The stream begins with them, and with a bookmark that ends them. */
  readonly initialEvents: boolean;
  readonly expected: WireKind;
  readonly maxFrameBytes: number;
}

/** The time after its timeout at which an open stream is given up: a proxy may have hidden the server's close. */
const overdueAfterMs = 30_000;
/** Bookmarks come about every minute. A stream that brought one and then nothing for this time is dead, and so is one that owes initial events. */
const silentAfterMs = 150_000;

/** Throws as `client.stream` does. */
export async function openWatch(
  { client, clock }: WatchStreamDeps,
  { request, timeoutMs, initialEvents, expected, maxFrameBytes }: WatchStreamOptions,
  signal: AbortSignal,
): Promise<WatchStream> {
  const linked = linkSignals([signal]);
  let givenUp: CloseCause | undefined;
  const giveUp = (cause: CloseCause): void => {
    givenUp = cause;
    linked.abort(new Error(`watch is ${cause}`));
  };
  const ageGuard = clock.timer(timeoutMs + overdueAfterMs, () => giveUp('overdue'));
  let silenceGuard: Timer | undefined;
  const release = (): void => {
    ageGuard.cancel();
    silenceGuard?.cancel();
    linked[Symbol.dispose]();
  };

  let body: AsyncIterable<Uint8Array>;
  try {
    ({ body } = await client.stream({ purpose: 'watch', ...request }, linked.signal));
  } catch (error) {
    release();
    throw error;
  }
  const splitter = createFrameSplitter(maxFrameBytes);
  const reader = readBody(body, splitter);
  /** Set by the first bookmark: from then on their rhythm shows that the stream is alive. */
  let bookmarked = false;
  let initialEventsEnded = false;
  let waitingSinceMs = clock.monotonicMs();
  let waiting = false;
  let ended: Input | undefined;

  const decode = (frame: Uint8Array): Input => {
    const event = decodeWatchEvent(frame, expected);
    if (event.kind === 'bookmark') {
      if (event.initialEventsEnd) initialEventsEnded = true;
      else bookmarked = true;
    }
    return { kind: 'event', event };
  };

  const take = (): Input | undefined => {
    if (ended !== undefined) return ended;
    try {
      const frame = reader.take();
      return frame === undefined ? undefined : decode(frame);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      ended = { kind: 'event', event: { kind: 'undecodable', error } };
      return ended;
    }
  };

  /** The unfinished rest of a stream counts if it is complete: only its newline may be missing. */
  const takeRest = (): Input => {
    const rest = splitter.end();
    ended = { kind: 'closed', cause: 'end' };
    if (rest === undefined) return ended;
    const last = decode(rest);
    if (last.kind !== 'event' || last.event.kind !== 'undecodable') return last;
    ended = { kind: 'closed', cause: 'truncated' };
    return ended;
  };

  const isAnyDue = (): boolean => bookmarked || (initialEvents && !initialEventsEnded);

  /** One timer for many chunks: it looks when the wait began, and waits for the rest. */
  const guardSilence = (): void => {
    const remainingMs = waitingSinceMs + silentAfterMs - clock.monotonicMs();
    if (remainingMs <= 0) giveUp('silent');
    else silenceGuard = clock.timer(remainingMs, onSilence);
  };
  const onSilence = (): void => {
    silenceGuard = undefined;
    // Time in which the stream is not read does not count: the next wait starts from zero.
    if (waiting && isAnyDue()) guardSilence();
  };

  const beginWait = (): void => {
    waitingSinceMs = clock.monotonicMs();
    waiting = true;
    if (isAnyDue() && silenceGuard === undefined) guardSilence();
  };

  return {
    take,
    async next() {
      for (let input = take(); ; input = take()) {
        if (input !== undefined) return input;
        beginWait();
        try {
          if (!(await reader.fill())) return takeRest();
        } catch (error) {
          ended = { kind: 'closed', cause: givenUp ?? 'broken', error };
        } finally {
          waiting = false;
        }
      }
    },
    progress: () => ({ initialEventsEnded, idleMs: clock.monotonicMs() - waitingSinceMs }),
    async close() {
      release();
      await reader.close();
    },
  };
}
