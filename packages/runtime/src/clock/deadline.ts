// SPDX-License-Identifier: Apache-2.0
/**
 * Derived signals that live exactly as long as the call they were made for: their listeners are taken off the parents
 * when the call ends, however it ends, so that a signal of the whole process collects nothing. (`AbortSignal.any` keeps
 * a composite that is listened to attached to its sources: nodejs/node#64476.)
 *
 * Not here: timing out work that ignores its signal. `withDeadline` aborts and then waits for the work to end, unless the work is
 * `unlessAborted(call(), signal)`.
 */
import type { Clock } from './clock.ts';

/** The reason of a signal whose deadline has passed. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  readonly afterMs: number;
  constructor(afterMs: number) {
    super(`deadline of ${afterMs} ms exceeded`);
    this.afterMs = afterMs;
  }
}

export interface Deadline {
  readonly parent?: AbortSignal | undefined;
  readonly ms: number;
}

/**
 * Runs `work` with a signal that aborts with the parent's reason, or with a `DeadlineError` after `ms`. When the work has
 * ended the signal is aborted in any case, so that whatever still hangs on it is released.
 */
export async function withDeadline<T>(
  clock: Clock,
  { parent, ms }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using linked = linkSignals([parent]);
  const deadlineMs = Math.min(clock.monotonicMs() + ms, deadlineOf(linked.signal) ?? Infinity);
  deadlines.set(linked.signal, deadlineMs);
  using _ = clock.timer(ms, () => linked.abort(new DeadlineError(ms)));
  return await work(linked.signal);
}

/**
 * When a signal made by `withDeadline`, or linked to one, will abort at the latest, on the monotonic clock; undefined when
 * nothing is known. It lets a wait that cannot end in time fail before it begins.
 */
export function deadlineOf(signal: AbortSignal | undefined): number | undefined {
  return signal === undefined ? undefined : deadlines.get(signal);
}

const deadlines = new WeakMap<AbortSignal, number>();

export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Only removes the listeners from the parents, for work that has certainly ended: an abort would have no effect and cost time. */
  release(): void;
}

/** Resolves when the signal aborts; it holds a listener until then. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A signal that aborts as soon as one of its parents does. Disposing aborts it and lets the parents go. */
export function linkSignals(parents: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const linked = new Linked();
  let earliestMs = Infinity;
  for (const parent of parents) {
    if (parent === undefined) continue;
    if (parent.aborted) {
      linked.abort(parent.reason);
      return linked;
    }
    linked.follow(parent);
    earliestMs = Math.min(earliestMs, deadlines.get(parent) ?? Infinity);
  }
  if (earliestMs !== Infinity) deadlines.set(linked.signal, earliestMs);
  return linked;
}

/** The object itself is the listener on its parents, because every request has one and most never have to act. */
class Linked implements LinkedSignal {
  readonly #controller = new AbortController();
  readonly #parents: AbortSignal[] = [];

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  follow(parent: AbortSignal): void {
    parent.addEventListener('abort', this);
    this.#parents.push(parent);
  }

  handleEvent({ target }: Event): void {
    this.abort((target as AbortSignal).reason);
  }

  abort(reason: unknown): void {
    this.release();
    this.#controller.abort(reason);
  }

  release(): void {
    for (const parent of this.#parents) parent.removeEventListener('abort', this);
  }

  [Symbol.dispose](): void {
    this.abort(ended);
  }
}

/** Shared by all calls: to create an error with its stack for each call would be a tenth of the cost of a small request. */
const ended = new DOMException('the call has ended', 'AbortError');

/** Sleeps until the time has passed or the signal aborts. It does not throw: the caller checks the signal. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
