// SPDX-License-Identifier: Apache-2.0
/**
 * The event recorder: a bounded queue in front of the correlator and the writer. Events of one object are written strictly in
 * order, those of different objects side by side, so an event that cannot be written holds up nobody else's (upstream has one
 * line for all). An unanswered write is tried 12 times, 10 s apart, the first pause being a random part of that.
 *
 * Not here: which events are written at all (correlator.ts), and what the server makes of a write (event-writer.ts).
 */
import PQueue from 'p-queue';
import type { ApiClient } from '../api/client.ts';
import type { Event } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { Logger } from '../log/logger.ts';
import { createEventBuilder } from './build-event.ts';
import { createCorrelator } from './correlator.ts';
import { writeEvent, type WriteResult } from './event-writer.ts';
import type { EventRecorder } from './recorder.ts';

export interface EventRecorderDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Told of each event that is dropped unwritten, other than by the spam filter. */
  readonly onDropped?: () => void;
}

export interface EventRecorderOptions {
  /** `source.component` and `reportingComponent`. */
  readonly component: string;
  /** `source.host` and `reportingInstance`. Default empty, as in the sidecars. */
  readonly host?: string;
  /**
   * The first of an object's events waits at least so long before it is written, and at most twice as long, so that the
   * requests that it tells about, or announces, go first. Default 0; a flush does not wait.
   */
  readonly delayMs?: number;
}

/** Upstream's maxQueuedEvents. */
const maxUnwritten = 1000;
const maxTries = 12;
const retryPauseMs = 10_000;
/** Requests at the same time: events are the least important thing that a controller does. */
const maxWrites = 4;
const defaultFlushMs = 2000;

export function createEventRecorder(deps: EventRecorderDeps, options: EventRecorderOptions): EventRecorder {
  const { client, clock, random, logger, onDropped } = deps;
  const { delayMs = 0 } = options;
  const builder = createEventBuilder(deps, { component: options.component, host: options.host ?? '' });
  const correlator = createCorrelator({ clock, nameFor: builder.nameFor });
  const writes = new PQueue({ concurrency: maxWrites });
  /** Object -> its events that are not written yet; the first one is being worked on. */
  const lines = new Map<string, Event[]>();
  /** The objects whose first event came within one delay wait together: a timer for each would wake the process for each. */
  let batch: { readonly closesMs: number; readonly over: Promise<void> } | undefined;
  let unwritten = 0;
  /** Aborts when there is no time for pauses any more. */
  let hurry = new AbortController();
  /** Aborts when there is no time for requests either. */
  let giveUp = new AbortController();
  /** Told when nothing is left. */
  let idle: (() => void) | undefined;

  function enqueue(event: Event): void {
    const { kind, namespace, name, uid } = event.involvedObject;
    const object = [kind, namespace, name, uid].join('/');
    const line = lines.get(object);
    unwritten += 1;
    if (line === undefined) {
      lines.set(object, [event]);
      void work(object);
    } else {
      line.push(event);
    }
  }

  async function work(object: string): Promise<void> {
    const line = lines.get(object) ?? [];
    if (delayMs > 0) await batchOver();
    for (let event = line[0]; event !== undefined; event = line[0]) {
      await deliver(event);
      line.shift();
      unwritten -= 1;
    }
    lines.delete(object);
    if (unwritten === 0) idle?.();
  }

  function batchOver(): Promise<void> {
    const nowMs = clock.monotonicMs();
    if (batch === undefined || nowMs > batch.closesMs) {
      batch = { closesMs: nowMs + delayMs, over: pause(2 * delayMs) };
    }
    return batch.over;
  }

  async function deliver(event: Event): Promise<void> {
    const correlated = correlator.correlate(event);
    if (correlated.kind === 'dropped') return;
    for (let tries = 1; ; tries += 1) {
      const isLastTry = tries === maxTries || hurry.signal.aborted;
      const { signal } = giveUp;
      const result = await writes.add((): Promise<WriteResult> => writeEvent(client, correlated, signal));
      switch (result.kind) {
        case 'written':
          correlator.remember(correlated.key, result.event);
          return;
        case 'rejected':
          if (result.expected) logger.info(5, 'Server rejected event (will not retry!)', { err: result.error });
          else logger.error(result.error, 'Server rejected event (will not retry!)', factsOf(event));
          return;
        case 'unanswered':
          if (isLastTry || signal.aborted) {
            logger.error(result.error, 'Unable to write event (retry limit exceeded!)', factsOf(event));
            onDropped?.();
            return;
          }
          logger.error(result.error, 'Unable to write event (may retry after sleeping)', factsOf(event));
          await pause(tries === 1 ? retryPauseMs * random.next() : retryPauseMs);
      }
    }
  }

  /** Cut short by a flush. */
  async function pause(ms: number): Promise<void> {
    await clock.sleep(ms, hurry.signal).catch(() => undefined);
  }

  /** Ends a flush: what is being tried fails now, for the last time; the rest is not tried any more. */
  function drop(): void {
    if (unwritten > 0)
      logger.error(undefined, 'Dropped events that could not be written in time', { count: unwritten });
    for (const line of lines.values()) {
      for (const _ of line.splice(1)) {
        unwritten -= 1;
        onDropped?.();
      }
    }
    giveUp.abort();
    [hurry, giveUp, idle] = [new AbortController(), new AbortController(), undefined];
  }

  return {
    record: (regarding, recorded) => {
      try {
        const built = builder.build(regarding, recorded);
        if (built.kind === 'refused') {
          logger.error(undefined, built.because, {
            kind: regarding.kind,
            type: recorded.type,
            reason: recorded.reason,
          });
          return;
        }
        logger.info(0, 'Event occurred', factsOf(built.event));
        if (unwritten >= maxUnwritten) {
          logger.error(
            undefined,
            'Unable to record event: too many queued events, dropped event',
            factsOf(built.event),
          );
          onDropped?.();
          return;
        }
        enqueue(built.event);
      } catch (error) {
        logger.error(error, 'Unable to record event');
      }
    },
    flush: async (timeoutMs = defaultFlushMs) => {
      if (unwritten === 0) return;
      const written = Promise.withResolvers<void>();
      using _ = clock.timer(timeoutMs, written.resolve);
      idle = written.resolve;
      hurry.abort();
      await written.promise;
      drop();
    },
  };
}

function factsOf({ involvedObject: object, type, reason, message }: Event) {
  return {
    object: object.namespace === undefined ? object.name : `${object.namespace}/${object.name ?? ''}`,
    fieldPath: object.fieldPath ?? '',
    kind: object.kind,
    apiVersion: object.apiVersion,
    type,
    reason,
    message,
  };
}
