// SPDX-License-Identifier: Apache-2.0
/**
 * Virtual time for several processes, and the order in which they take turns.
 *
 * A task is what one process does at one moment: a timer that fires, an answer that arrives. Tasks run one after the other; between two of
 * them every promise that can continue does so. Which of the tasks that are due runs first is drawn from the seed, not first in, first out.
 * A process can die, stand still, and have a wall clock of its own.
 *
 * Guarantees: the same seed and the same programs give the same order; a dead process runs nothing any more.
 */
import type { Clock, Timer } from '../../src/clock/clock.ts';
import type { Random } from '../../src/clock/random.ts';
import { sleepOn } from '../../src/clock/sleep-on.ts';
import { settle } from '../fake-clock.ts';
import { seededRandom } from '../seeded-random.ts';
import { drawFrom, hashText } from './hash.ts';

export interface Schedule {
  /** Since the start of the story. */
  readonly elapsedMs: number;
  /** A name is used once; a container that is restarted gets another process with the next number. */
  readonly process: (name: string) => ScheduledProcess;
  /** Runs every task that is due until then, and calls `afterTask` after each of them. */
  readonly advanceTo: (elapsedMs: number, afterTask?: () => void) => Promise<void>;
  /** The process whose task runs, or ran last; undefined before the first one. */
  readonly running: string | undefined;
  /** Tasks that have run. */
  readonly tasks: number;
  /** Tasks that wait. */
  readonly pending: number;
}

export interface ScheduledProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly isDead: boolean;
  /** Adds a task. Tasks of the same moment run in an order that the seed decides. */
  readonly post: (run: () => void, afterMs?: number) => void;
  /** As kill -9. Calls the listeners of `onDeath` in this task. */
  readonly kill: (why: string) => void;
  /** The process dies once it has run so many more tasks. */
  readonly killAfter: (tasks: number, why: string) => void;
  /** Returns what removes the listener again. */
  readonly onDeath: (listener: (why: string) => void) => () => void;
  /** Nothing of the process runs for so long, while its clocks go on, as when it is suspended. */
  readonly suspend: (ms: number) => void;
  /** Moves its wall clock only. */
  readonly shiftWallClock: (ms: number) => void;
}

interface Task {
  readonly owner: Process;
  readonly dueMs: number;
  readonly rank: number;
  /** Undefined once it is cancelled. */
  run: (() => void) | undefined;
}

interface Process {
  name: string;
  number: number;
  posted: number;
  ran: number;
  dead: boolean;
  suspendedUntilMs: number;
  wallOffsetMs: number;
  killAt: { tasks: number; why: string } | undefined;
  kill: (why: string) => void;
}

const startMs = Date.UTC(2026, 0, 1);

export function createSchedule({ seed }: { readonly seed: number }): Schedule {
  const draw = drawFrom(seed);
  const heap: Task[] = [];
  let elapsedMs = 0;
  let tasks = 0;
  let running: string | undefined;

  function add(owner: Process, ms: number, run: () => void): Task {
    const rank = draw(owner.number, owner.posted++);
    const task: Task = { owner, dueMs: elapsedMs + (ms > 0 ? ms : 0), rank, run };
    push(heap, task);
    return task;
  }

  function createProcess(name: string): ScheduledProcess {
    const number = hashText(name);
    const listeners = new Set<(why: string) => void>();
    const own: Process = {
      name,
      number,
      posted: 0,
      ran: 0,
      dead: false,
      suspendedUntilMs: 0,
      wallOffsetMs: startMs,
      killAt: undefined,
      kill(why) {
        if (own.dead) return;
        own.dead = true;
        for (const listener of listeners) listener(why);
        listeners.clear();
      },
    };
    const timer = (ms: number, fire: () => void): Timer => {
      const task = add(own, ms, fire);
      const cancel = (): void => void (task.run = undefined);
      return { cancel, [Symbol.dispose]: cancel };
    };
    return {
      name,
      random: seededRandom(seed ^ number),
      clock: {
        nowMs: () => own.wallOffsetMs + elapsedMs,
        monotonicMs: () => elapsedMs,
        timer,
        sleep: (ms, signal) => sleepOn(timer, ms, signal),
        yieldToLoop: () => new Promise((resolve) => void add(own, 0, resolve)),
      },
      get isDead() {
        return own.dead;
      },
      post: (run, afterMs = 0) => void add(own, afterMs, run),
      kill: own.kill,
      killAfter: (count, why) => void (own.killAt = { tasks: own.ran + count, why }),
      onDeath(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      suspend: (ms) => void (own.suspendedUntilMs = Math.max(own.suspendedUntilMs, elapsedMs + ms)),
      shiftWallClock: (ms) => void (own.wallOffsetMs += ms),
    };
  }

  /** A task whose process stands still is put back; undefined if there is nothing to run. */
  function runnable({ owner, run, rank, dueMs }: Task): (() => void) | undefined {
    if (run === undefined || owner.dead) return undefined;
    const until = owner.suspendedUntilMs;
    if (until > Math.max(elapsedMs, dueMs)) {
      push(heap, { owner, dueMs: until, rank, run });
      return undefined;
    }
    return run;
  }

  return {
    get elapsedMs() {
      return elapsedMs;
    },
    get running() {
      return running;
    },
    get tasks() {
      return tasks;
    },
    get pending() {
      return heap.length;
    },
    process: createProcess,
    async advanceTo(untilMs, afterTask) {
      await settle();
      for (let task = heap[0]; task !== undefined && task.dueMs <= untilMs; task = heap[0]) {
        pop(heap);
        const run = runnable(task);
        if (run === undefined) continue;
        const { owner, dueMs } = task;
        elapsedMs = Math.max(elapsedMs, dueMs);
        running = owner.name;
        run();
        tasks += 1;
        owner.ran += 1;
        await settle();
        if (owner.killAt !== undefined && owner.ran >= owner.killAt.tasks) owner.kill(owner.killAt.why);
        afterTask?.();
      }
      elapsedMs = Math.max(elapsedMs, untilMs);
    },
  };
}

function isBefore(a: Task, b: Task): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.rank < b.rank);
}

/** A binary heap: the first task is at the beginning. */
function push(heap: Task[], task: Task): void {
  let at = heap.push(task) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(task, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = task;
}

function pop(heap: Task[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const right = left + 1;
    if (left >= heap.length) break;
    const child = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}
