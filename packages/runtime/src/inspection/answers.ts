// SPDX-License-Identifier: Apache-2.0
/** What is answered of one loop. Made when it is asked for. Times are RFC 3339, durations seconds; null does not apply. */
import type { Clock } from '../clock/clock.ts';
import type { Inspected, InspectedObject, Subject } from './inspected-loop.ts';
import type { LastDecision } from './last-decisions.ts';
import type { RunRecord } from './run-record.ts';

export interface LoopAnswer {
  /** The loop has the object in its cache, or its key in the queue, or has run for it. */
  readonly known: boolean;
  readonly uid: string | null;
  readonly queue: {
    readonly name: string;
    readonly lane: string | null;
    /** Keys that wait: those of its lane, if the key waits in one. */
    readonly depth: number;
    /** Null: it does not wait. */
    readonly place: number | null;
    readonly waitingSince: string | null;
    readonly workers: number;
    readonly busy: number;
  };
  readonly run: {
    readonly row: string | null;
    readonly action: string | null;
    readonly method: string | null;
    readonly startedAt: string;
    readonly deadlineAt: string | null;
  } | null;
  readonly last: {
    readonly row: string;
    readonly action: string;
    readonly at: string;
    readonly tookSeconds: number;
    readonly code: string | null;
    readonly text: string | null;
  } | null;
  readonly backoff: { readonly failures: number; readonly nextAt: string | null } | null;
  /** The next run that is already certain, whatever asked for it: a backoff, or `requeueAfter`. */
  readonly nextAt: string | null;
  readonly memory: readonly string[];
}

export interface QueueSummary {
  readonly name: string;
  readonly depth: number;
  readonly running: number;
  readonly oldestSeconds: number | null;
  readonly workers: number;
}

type Times = Pick<Clock, 'nowMs' | 'monotonicMs'>;

export function answerOf(clock: Times, { loop, running, last }: Inspected, subject: Subject): LoopAnswer {
  const { key, uid, isFound } = located({ loop, running, last }, subject);
  const { waiting, isRunning, dueMs } = loop.queue.inspect(key);
  const run = running.get(key);
  const decision = sameObject(last.get(loop.name, key), uid);
  const failures = loop.queue.numRequeues(key);
  const memory = loop.remembered(key);
  const { waiting: depth, running: busy } = loop.queue.state();
  const wall = wallOf(clock);
  const nextAt = dueMs === undefined ? null : wall(dueMs);
  return {
    known:
      isFound ||
      waiting !== undefined ||
      isRunning ||
      dueMs !== undefined ||
      decision !== undefined ||
      memory.length > 0,
    uid: uid ?? run?.uid ?? decision?.uid ?? null,
    queue: {
      name: loop.name,
      lane: waiting?.lane ?? null,
      depth: waiting?.depth ?? depth,
      place: waiting?.place ?? null,
      waitingSince: waiting === undefined ? null : wall(waiting.sinceMs),
      workers: loop.workers,
      busy,
    },
    run: run === undefined ? null : runOf(run, wall),
    last: decision === undefined ? null : lastOf(decision),
    backoff: failures === 0 ? null : { failures, nextAt },
    nextAt,
    memory,
  };
}

export function summaryOf(clock: Times, { loop }: Inspected): QueueSummary {
  const { waiting: depth, running, oldestMs } = loop.queue.state();
  const oldestSeconds = oldestMs === undefined ? null : seconds(clock.monotonicMs() - oldestMs);
  return { name: loop.name, depth, running, oldestSeconds, workers: loop.workers };
}

interface Located extends InspectedObject<string> {
  readonly isFound: boolean;
}

/** A uid is looked for among what runs or has run, because no cache is indexed by it; a loop may have it for its key. */
function located({ loop, running, last }: Inspected, { by }: Subject): Located {
  if ('key' in by) {
    const found = loop.find(by.key);
    return found === undefined ? { key: by.key, uid: undefined, isFound: false } : { ...found, isFound: true };
  }
  const { uid } = by;
  for (const [key, run] of running) if (run.uid === uid) return { key, uid, isFound: false };
  return { key: last.keyOf(loop.name, uid) ?? uid, uid, isFound: false };
}

/** A decision about an earlier object of the same name says nothing about this one. */
function sameObject(decision: LastDecision | undefined, uid: string | undefined): LastDecision | undefined {
  return uid !== undefined && decision?.uid !== undefined && decision.uid !== uid ? undefined : decision;
}

type Wall = (monotonicMs: number) => string;

function wallOf(clock: Times): Wall {
  const offsetMs = clock.nowMs() - clock.monotonicMs();
  return (ms) => new Date(offsetMs + ms).toISOString();
}

function runOf({ row, action, call, startedMs }: RunRecord, wall: Wall): NonNullable<LoopAnswer['run']> {
  return {
    row: row || null,
    action: action || null,
    method: call?.method ?? null,
    startedAt: wall(startedMs),
    deadlineAt: call?.deadlineMs === undefined ? null : wall(call.deadlineMs),
  };
}

function lastOf({ row, action, atMs, tookMs, code, text }: LastDecision): NonNullable<LoopAnswer['last']> {
  const at = new Date(atMs).toISOString();
  return { row, action, at, tookSeconds: seconds(tookMs), code: code ?? null, text: text || null };
}

function seconds(ms: number): number {
  return Math.round(ms) / 1_000;
}
