// SPDX-License-Identifier: Apache-2.0
/** Does what a state of the reflector demands, and returns the outcome. */
import type { Timer } from '../../clock/clock.ts';
import type { Random } from '../../clock/random.ts';
import type { Logger } from '../../log/logger.ts';
import type { Budget } from '../budget.ts';
import { pause } from '../../clock/deadline.ts';
import { type ListBody, readList } from '../decode/list-body.ts';
import type { Sink } from './sink.ts';
import type { Demand, Input, PageRequest, Pause } from './state.ts';
import { pageRequest, type Target, watchRequest, wireKindOf } from './watch-request.ts';
import { openWatch, type WatchStream, type WatchStreamDeps } from './watch-stream.ts';

export interface PerformerDeps extends WatchStreamDeps {
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: Budget;
}

export interface PerformerOptions {
  readonly target: Target;
  readonly sink: Pick<Sink, 'startCollecting' | 'collect'>;
  readonly maxFrameBytes: number;
}

export interface Performer {
  /** The next event of the open watch, if it is there already: the hot path, without a promise. */
  ready(): Input | undefined;
  perform(demand: Demand): Promise<Input>;
  /** Ends the open watch, if there is one. */
  closeWatch(): Promise<void>;
}

/**
 * The requested duration of a watch is a random time between 5 and 10 minutes, so that the watches of many clients do not end
 * together.
 */
const minWatchSeconds = 300;
const slowListMs = 10_000;
const progressEveryMs = 10_000;

export function createPerformer(deps: PerformerDeps, options: PerformerOptions, signal: AbortSignal): Performer {
  const { client, clock, random, logger, budget } = deps;
  const { target, sink, maxFrameBytes } = options;
  const expected = wireKindOf(target);
  let watch: WatchStream | undefined;
  let progress: Timer | undefined;
  let listStartedMs = 0;

  const wait = async ({ minMs, spreadMs }: Pause): Promise<Input> => {
    await pause(clock, minMs + spreadMs * random.next(), signal);
    return { kind: 'woke' };
  };

  const open = async (demand: Extract<Demand, { kind: 'watch' }>): Promise<Input> => {
    const streaming = demand.initialEvents === 'wanted';
    if (streaming) sink.startCollecting();
    const timeoutSeconds = minWatchSeconds + Math.floor(minWatchSeconds * random.next());
    const request = watchRequest(target, demand, timeoutSeconds);
    try {
      const timeoutMs = timeoutSeconds * 1000;
      const options = { request, timeoutMs, initialEvents: streaming, expected, maxFrameBytes };
      watch = await openWatch(deps, options, signal);
    } catch (error) {
      return { kind: 'failed', error };
    }
    if (streaming) watchProgress(watch);
    return { kind: 'opened' };
  };

  /** Logs repeatedly that a streaming list hangs, because nothing is synced before it ends. */
  const watchProgress = (stream: WatchStream): void => {
    progress = clock.timer(progressEveryMs, () => {
      const { initialEventsEnded, idleMs } = stream.progress();
      if (initialEventsEnded) return;
      logger.warn('Still waiting for the end of the initial events', { lastEventAgoMs: Math.round(idleMs) });
      watchProgress(stream);
    });
  };

  const list = async (page: PageRequest): Promise<Input> => {
    if (page.continue === undefined) {
      sink.startCollecting();
      listStartedMs = clock.monotonicMs();
    }
    let body: ListBody | undefined;
    try {
      for (;;) {
        let item;
        try {
          body ??= readList(
            (await client.stream({ purpose: 'list', ...pageRequest(target, page) }, signal)).body,
            expected,
          );
          item = body.take() ?? (await body.next());
          if (item === undefined) return pageEnd(body);
        } catch (error) {
          return { kind: 'failed', error };
        }
        // Outside of the inner try, because an exception of the sink is not an error of the page.
        if (item.kind === 'object') sink.collect({ type: 'ADDED', object: item.object });
        else logger.error(undefined, 'Unexpected object in a list, skipped', { what: item.what });
        const turn = budget.spend();
        if (turn !== undefined) await turn;
        if (signal.aborted) return { kind: 'failed', error: signal.reason };
      }
    } finally {
      await body?.close();
    }
  };

  const pageEnd = (body: ListBody): Input => {
    const end = body.end();
    const tookMs = clock.monotonicMs() - listStartedMs;
    if (end.continue === undefined && tookMs > slowListMs) logger.info(2, 'Slow list', { tookMs: Math.round(tookMs) });
    return { kind: 'page', ...end };
  };

  return {
    ready: () => watch?.take(),
    perform(demand) {
      switch (demand.kind) {
        case 'wait':
          return wait(demand.pause);
        case 'watch':
          return open(demand);
        case 'list':
          return list(demand.page);
        case 'read':
          if (watch === undefined) throw new Error('reflector: no watch is open');
          return watch.next();
      }
    },
    async closeWatch() {
      progress?.cancel();
      const closing = watch;
      watch = undefined;
      await closing?.close();
    },
  };
}
