// SPDX-License-Identifier: Apache-2.0
/**
 * The event recorder: a bounded queue in front of the correlator and the writer. Events of one object are written strictly in
 * order, those of different objects in parallel, so an event that cannot be written does not delay those of others (upstream has one
 * line for all). An unanswered write is tried 12 times, 10 s apart, the first pause being a random part of that.
 *
 * Not here: which events are written at all (correlator.ts), and what the server makes of a write (event-writer.ts).
 */
import type { ApiClient } from '../api/client.ts';
import type { Event, KubeObject } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { Logger } from '../log/logger.ts';
import { createEventBuilder } from './build-event.ts';
import { type Correlated, createCorrelator } from './correlator.ts';
import { isPassing, writeEvent } from './event-writer.ts';
import type { AwaitableRecorder, Delivery, RecordedEvent, WrittenEvents } from './recorder.ts';

export interface EventRecorderDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called for each event that is dropped unwritten, except by the spam filter. */
  readonly onDropped?: () => void;
  /** Default: all. */
  readonly writtenEvents?: WrittenEvents | undefined;
}

export interface EventRecorderOptions {
  /** `source.component` and `reportingComponent`. */
  readonly component: string;
  /** `source.host` and `reportingInstance`. Default empty, as in the sidecars. */
  readonly host?: string;
  /**
   * The first of an object's events waits at least so long before it is written, and at most twice as long, so that the
   * requests that it reports or announces are sent first. Default 0; a flush does not wait.
   */
  readonly delayMs?: number;
}

interface Recorded {
  readonly event: Event;
  /** Of an event that its caller repeats, which is tried once. */
  readonly ended?: ((delivery: Delivery) => void) | undefined;
}

/** The events of one object that are not written yet. */
interface Line {
  readonly object: string;
  /** The first one is being worked on. */
  readonly waiting: Recorded[];
  /** The write that its first attempt decided on. */
  correlated: Correlated | undefined;
  /** Number of attempts to write the first of these events. */
  tries: number;
}

interface Turn {
  readonly line: Line;
  /** Ends the write. That of the time when it became possible: a flush that is over has given up what it left. */
  readonly signal: AbortSignal;
}

/** Upstream's maxQueuedEvents. */
const maxUnwritten = 1000;
const maxTries = 12;
const retryPauseMs = 10_000;
/** Requests at the same time: events are the least important thing that a controller does. */
const maxWrites = 4;
const defaultFlushMs = 2000;

export function createEventRecorder(deps: EventRecorderDeps, options: EventRecorderOptions): AwaitableRecorder {
  const { client, clock, random, logger, onDropped, writtenEvents } = deps;
  const { delayMs = 0 } = options;
  const builder = createEventBuilder(deps, { component: options.component, host: options.host ?? '' });
  const correlator = createCorrelator({ clock, nameFor: builder.nameFor });
  /** By object. */
  const lines = new Map<string, Line>();
  /** Lines whose first event may be written. */
  const ready: Turn[] = [];
  let writers = 0;
  /** The objects whose first event came within one delay wait together: a timer for each would wake the process for each. */
  let batch: { readonly closesMs: number; readonly over: Promise<void> } | undefined;
  let unwritten = 0;
  /** Aborts when pauses have to end. */
  let hurry = new AbortController();
  /** Aborts when requests have to end, too. */
  let giveUp = new AbortController();
  /** Called when no event is left. */
  let idle: (() => void) | undefined;

  function enqueue(recorded: Recorded): void {
    const { kind, namespace, name, uid } = recorded.event.involvedObject;
    const object = [kind, namespace, name, uid].join('/');
    unwritten += 1;
    const line = lines.get(object);
    if (line !== undefined) {
      line.waiting.push(recorded);
      return;
    }
    const begun: Line = { object, waiting: [recorded], correlated: undefined, tries: 0 };
    lines.set(object, begun);
    void begin(begun);
  }

  async function begin(line: Line): Promise<void> {
    if (delayMs > 0) await batchOver();
    queue(line);
  }

  function batchOver(): Promise<void> {
    const nowMs = clock.monotonicMs();
    if (batch === undefined || nowMs > batch.closesMs) {
      batch = { closesMs: nowMs + delayMs, over: pause(2 * delayMs) };
    }
    return batch.over;
  }

  /** A writer continues while events are waiting, so that a busy recorder adds few tasks. */
  function queue(line: Line): void {
    ready.push({ line, signal: giveUp.signal });
    if (writers === maxWrites) return;
    writers += 1;
    void write();
  }

  async function write(): Promise<void> {
    for (let turn = ready.shift(); turn !== undefined; turn = ready.shift()) {
      try {
        await deliver(turn);
      } catch (error) {
        // A defect costs its event: neither the process, nor the writer of all the others.
        logger.error(error, 'Unable to write event (defect)');
        finish(turn.line, 'refused');
      }
    }
    writers -= 1;
  }

  /** One try of a line's first event. */
  async function deliver({ line, signal }: Turn): Promise<void> {
    const [first] = line.waiting;
    if (first === undefined) return;
    const { event, ended } = first;
    const correlated = (line.correlated ??= correlator.correlate(event));
    if (correlated.kind === 'dropped') {
      finish(line, 'filtered');
      return;
    }
    line.tries += 1;
    const isLastTry = ended !== undefined || line.tries === maxTries || hurry.signal.aborted;
    const result = await writeEvent(client, correlated, signal);
    switch (result.kind) {
      case 'written':
        correlator.remember(correlated.key, result.event);
        finish(line, 'written');
        return;
      case 'rejected':
        if (ended !== undefined && isPassing(result.error)) {
          logger.error(result.error, 'Unable to write event (its sender may repeat it)', factsOf(event));
          finish(line, 'dropped');
          return;
        }
        if (result.expected) logger.info(5, 'Server rejected event (will not retry!)', { err: result.error });
        else logger.error(result.error, 'Server rejected event (will not retry!)', factsOf(event));
        finish(line, 'refused');
        return;
      case 'unanswered':
        if (!isLastTry && !signal.aborted) {
          logger.error(result.error, 'Unable to write event (may retry after sleeping)', factsOf(event));
          void tryAgain(line);
          return;
        }
        logger.error(result.error, 'Unable to write event (retry limit exceeded!)', factsOf(event));
        onDropped?.();
        finish(line, 'dropped');
    }
  }

  /** Other writers continue meanwhile. */
  async function tryAgain(line: Line): Promise<void> {
    await pause(line.tries === 1 ? retryPauseMs * random.next() : retryPauseMs);
    queue(line);
  }

  function finish(line: Line, delivery: Delivery): void {
    const finished = line.waiting.shift();
    line.correlated = undefined;
    line.tries = 0;
    unwritten -= 1;
    if (line.waiting.length > 0) queue(line);
    else lines.delete(line.object);
    finished?.ended?.(delivery);
    if (unwritten === 0) idle?.();
  }

  /** A pause that a flush cuts short. */
  async function pause(ms: number): Promise<void> {
    await clock.sleep(ms, hurry.signal).catch(() => undefined);
  }

  /** Ends a flush: running attempts fail now and are the last; the remaining events are not tried again. */
  function drop(): void {
    if (unwritten > 0)
      logger.error(undefined, 'Dropped events that could not be written in time', { count: unwritten });
    for (const line of lines.values()) {
      for (const { ended } of line.waiting.splice(1)) {
        unwritten -= 1;
        onDropped?.();
        ended?.('dropped');
      }
    }
    giveUp.abort();
    [hurry, giveUp, idle] = [new AbortController(), new AbortController(), undefined];
  }

  /** Never throws. Undefined: it is queued. */
  function accept(regarding: KubeObject, recorded: RecordedEvent, ended?: Recorded['ended']): Delivery | undefined {
    if (recorded.isStart === true && writtenEvents === 'outcome') return 'filtered';
    try {
      const built = builder.build(regarding, recorded);
      if (built.kind === 'refused') {
        const { type, reason } = recorded;
        logger.error(undefined, built.because, { kind: regarding.kind, type, reason });
        return 'refused';
      }
      const facts = factsOf(built.event);
      logger.info(0, 'Event occurred', facts);
      if (unwritten >= maxUnwritten) {
        logger.error(undefined, 'Unable to record event: too many queued events, dropped event', facts);
        onDropped?.();
        return 'dropped';
      }
      enqueue({ event: built.event, ended });
      return undefined;
    } catch (error) {
      logger.error(error, 'Unable to record event');
      return 'refused';
    }
  }

  return {
    record: (regarding, recorded) => {
      accept(regarding, recorded);
    },
    deliver: (regarding, recorded) => {
      const { promise, resolve } = Promise.withResolvers<Delivery>();
      const delivery = accept(regarding, recorded, resolve);
      if (delivery !== undefined) resolve(delivery);
      return promise;
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
