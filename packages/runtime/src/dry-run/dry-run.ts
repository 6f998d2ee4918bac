// SPDX-License-Identifier: Apache-2.0
/**
 * What a loop would do with one key if it began now, without a memory: the loop itself runs, over caches that are given and ports that
 * neither write nor call. The run ends at the first write or call, which gets no answer, or with its conclusion. Its rows are those that the
 * loop logs. So there is no second copy of a rule, and a change of a flow is a change of the answer.
 *
 * Events do not end a run: they are no decision, and a run goes on after them whatever becomes of them.
 *
 * Not here: which objects are needed, and who reads them; the command line and the capabilities that settings are made of (`sidecar`).
 */
import { linkSignals } from '../clock/deadline.ts';
import type { ControllerPorts } from '../controller/controller.ts';
import type { Outcome } from '../controller/reconcile.ts';
import type { EventRecorder } from '../event-recorder/recorder.ts';
import { type Logger, silentLogger } from '../log/logger.ts';
import type { AssembledLoop, Loop } from '../loop/loop.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { createWorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import { createFixedInformers } from './fixed-informers.ts';
import { guardedClient } from './guarded-client.ts';
import type { DecidedRow, DryAction, DryOutcome, DryRunResult, DryWorld } from './world.ts';

export interface DryPorts extends ControllerPorts {
  readonly events: EventRecorder;
  /** Whoever gets a port that is not here, the channel to a driver, reports with it what it was asked for, and does not answer. */
  readonly onAction: (action: DryAction) => void;
}

export interface DryRunOptions {
  /** The controller's list of loops. It gets ports that neither write nor call. */
  readonly loops: (ports: DryPorts) => readonly Loop[];
  /** The name of the loop's queue. */
  readonly queue: string;
  /** A key of that queue. */
  readonly key: string;
  readonly assumed?: readonly string[];
  /** Aborts when the answer is not wanted any more. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A loop that the controller does not have in this configuration does nothing. Rejects with the reason of the signal, and with a defect
 * of the loop: with objects that no API server has let through, it may meet what it takes for impossible.
 */
export async function dryRun(world: DryWorld, options: DryRunOptions): Promise<DryRunResult> {
  const { clock, random } = world;
  const { queue, key, signal } = options;
  const assumed = new Set(['memory', ...(options.assumed ?? [])]);
  const rows: DecidedRow[] = [];
  const ended = Promise.withResolvers<DryAction>();
  const informers = createFixedInformers({ clock, logger: silentLogger }, world.objects);
  const ports: DryPorts = {
    client: guardedClient(world.read, {
      onAction: ended.resolve,
      onFailedRead: (what) => assumed.add(`${what} succeeds`),
    }),
    informers,
    clock,
    random,
    logger: rowsLogger((row) => rows.push(row)),
    metrics: noMetrics,
    queueMetrics: createWorkQueueMetrics(noMetrics),
    events: { record: () => undefined, flush: () => Promise.resolve() },
    onAction: ended.resolve,
  };
  const loop = loopOf(
    options.loops(ports).map((each) => each.assemble(ports)),
    queue,
  );
  using running = linkSignals(signal === undefined ? [] : [signal]);
  running.signal.addEventListener('abort', () => ended.reject(running.signal.reason));
  // The caches may not be filled yet when the signal aborts, and nobody waits for the end before that.
  ended.promise.catch(() => undefined);
  await informers.start(running.signal);
  running.signal.throwIfAborted();
  if (loop === undefined)
    return { row: undefined, rows, action: { kind: 'none' }, assumed: [...assumed].map(shownText) };
  loop
    .reconcile(key as never, running.signal)
    .then(
      (outcome) =>
        ended.resolve(rows.length === 0 ? { kind: 'none' } : { kind: 'conclude', outcome: dryOutcome(outcome) }),
      ended.reject,
    );
  const action = await ended.promise;
  // What a run has begun beside the step that ended it is not waited for.
  const decided = [...rows];
  running.abort(new Error('the dry run is over'));
  return { row: decided.at(-1)?.row, rows: decided, action, assumed: [...assumed].map(shownText) };
}

type Keyed = NonNullable<AssembledLoop['keyed']>;

function loopOf(loops: readonly AssembledLoop[], queue: string): Keyed | undefined {
  return loops.flatMap((loop) => loop.keyed ?? []).find(({ name }) => name === queue);
}

/** Each row that a loop comes to is a line of its log, whatever the level. */
function rowsLogger(onRow: (row: DecidedRow) => void): Logger {
  const logger: Logger = {
    ...silentLogger,
    info(_level, message, facts = {}) {
      const { row, action } = facts;
      if (message === 'Decided' && typeof row === 'string' && typeof action === 'string') onRow({ row, action });
    },
    with: () => logger,
  };
  return logger;
}

function dryOutcome(outcome: Outcome): DryOutcome {
  switch (outcome.kind) {
    case 'retry':
      return { kind: 'retry', text: shownText(outcome.cause.message) };
    case 'postpone':
      return { kind: 'postpone', text: shownText(outcome.reason) };
    case 'requeueAfter':
      return { kind: 'requeueAfter', afterMs: outcome.afterMs };
    case 'done':
    case 'dropped':
      return { kind: outcome.kind };
  }
}

const maxTextLength = 1_024;

function shownText(text: string): string {
  return text.slice(0, maxTextLength).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
}
