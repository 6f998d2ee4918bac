// SPDX-License-Identifier: Apache-2.0
/**
 * Resync: when handlers are called again for all objects. One timer per informer, the check period: the shortest period any handler
 * asked for before the start, or the informer's own. It runs while the content is kept up to date and starts over after
 * the connection was lost; each firing serves the handlers that are due.
 *
 * | handler asks for         | gets                                                                   |
 * |--------------------------|------------------------------------------------------------------------|
 * | nothing                  | the informer's period                                                  |
 * | 0                        | no resync                                                              |
 * | less than 1 s            | 1 s, with a warning                                                    |
 * | less than the check      | before the start: what it asked for, and the check period is lowered   |
 * |                          | after the start: the check period, with a warning                      |
 * | anything, informer has 0 | no resync, with a warning                                              |
 */
import type { Clock, Timer } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import type { Connection } from './reflector/sink.ts';

export interface ResyncOptions<Id> {
  /** The informer's period; 0: none. */
  readonly periodMs: number;
  readonly onDue: (round: Round<Id>) => void;
}

export interface Round<Id> {
  readonly due: ReadonlySet<Id>;
  /** The time over which the calls are spread. */
  readonly spreadMs: number;
  /** Aborts when the content is no longer kept up to date. */
  readonly signal: AbortSignal;
}

/** `Id` stands for a handler. */
export interface Resync<Id> {
  register(id: Id, requestedMs: number | undefined): void;
  unregister(id: Id): void;
  start(): void;
  setConnection(connection: Connection): void;
  stop(): void;
}

const minPeriodMs = 1_000;
const maxSpreadMs = 60_000;
/** A timer may fire a little early; its handlers must not wait for the next round because of that. */
const earlyMs = 100;

interface Entry {
  readonly periodMs: number;
  nextMs: number;
}

export interface ResyncDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createResync<Id>({ clock, logger }: ResyncDeps, options: ResyncOptions<Id>): Resync<Id> {
  const entries = new Map<Id, Entry>();
  let checkMs = options.periodMs;
  let started = false;
  let connection: Connection = 'lost';
  let timer: Timer | undefined;
  let round = new AbortController();

  const disarm = (): void => {
    timer?.cancel();
    timer = undefined;
    round.abort();
  };
  const arm = (): void => {
    if (checkMs > 0) timer ??= clock.timer(checkMs, fire);
  };

  const fire = (): void => {
    timer = undefined;
    // Not while disconnected: the timer starts over with the next watch.
    if (connection !== 'live') return;
    const nowMs = clock.monotonicMs();
    const due = new Set<Id>();
    for (const [id, entry] of entries) {
      if (entry.periodMs === 0 || nowMs + earlyMs < entry.nextMs) continue;
      entry.nextMs = nowMs + entry.periodMs;
      due.add(id);
    }
    if (due.size > 0) {
      round = new AbortController();
      options.onDue({ due, spreadMs: Math.min(checkMs / 10, maxSpreadMs), signal: round.signal });
    }
    arm();
  };

  const lowerCheck = (toMs: number): void => {
    checkMs = toMs;
    for (const entry of entries.values()) entry.nextMs = clock.monotonicMs() + entry.periodMs;
  };

  return {
    register(id, requested = options.periodMs) {
      let requestedMs = requested;
      if (requestedMs > 0 && requestedMs < minPeriodMs) {
        logger.warn('resyncPeriod is too small, changing it to the minimum allowed value', {
          resyncPeriodMs: requestedMs,
          minimumMs: minPeriodMs,
        });
        requestedMs = minPeriodMs;
      }
      if (requestedMs > 0 && requestedMs < checkMs) {
        if (started) {
          logger.warn(
            'resyncPeriod is smaller than resyncCheckPeriod and the informer has already started, changing it',
            {
              resyncPeriodMs: requestedMs,
              resyncCheckPeriodMs: checkMs,
            },
          );
          requestedMs = checkMs;
        } else {
          lowerCheck(requestedMs);
        }
      }
      // Without a check period there is no timer.
      if (requestedMs > 0 && checkMs === 0) {
        logger.warn('The specified resyncPeriod is invalid because this informer does not resync', { requestedMs });
      }
      entries.set(id, { periodMs: requestedMs, nextMs: clock.monotonicMs() + requestedMs });
    },
    unregister: (id) => void entries.delete(id),
    start() {
      started = true;
    },
    setConnection(now) {
      connection = now;
      if (now === 'live') arm();
      if (now === 'lost') disarm();
    },
    stop: disarm,
  };
}
