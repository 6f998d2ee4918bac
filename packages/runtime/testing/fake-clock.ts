// SPDX-License-Identifier: Apache-2.0
/**
 * Virtual time. Time stands still until a test advances it. Then due timers fire in the order of their due time (equal times:
 * in the order they were set), and after each of them every promise that can continue does so before time moves on. The wall
 * clock can be shifted by itself, to show that durations do not depend on it.
 */
import { setImmediate } from 'node:timers/promises';
import type { Clock, Timer } from '../src/clock/clock.ts';
import { sleepOn } from '../src/clock/sleep-on.ts';

interface Entry {
  readonly dueMs: number;
  readonly fire: () => void;
}

export class FakeClock implements Clock {
  #elapsedMs = 0;
  #wallOffsetMs: number;
  /** Sorted by due time; later insertions come after equal ones. */
  readonly #entries: Entry[] = [];

  constructor(options: { readonly nowMs?: number } = {}) {
    this.#wallOffsetMs = options.nowMs ?? Date.UTC(2026, 0, 1);
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  /** How many sleeps and timers are waiting: zero after a test that leaks none. */
  get pending(): number {
    return this.#entries.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn((afterMs, fire) => this.timer(afterMs, fire), ms, signal);
  }

  timer(ms: number, fire: () => void): Timer {
    const entry: Entry = { dueMs: this.#elapsedMs + Math.max(ms, 0), fire };
    const later = this.#entries.findLastIndex((other) => other.dueMs <= entry.dueMs);
    this.#entries.splice(later + 1, 0, entry);
    const cancel = (): void => {
      const index = this.#entries.indexOf(entry);
      if (index >= 0) this.#entries.splice(index, 1);
    };
    return { cancel, [Symbol.dispose]: cancel };
  }

  /** One more turn, so that after `settle` everything has happened that needs no time to pass. */
  async yieldToLoop(): Promise<void> {}

  /** Lets `ms` pass, timers set on the way included, and everything settle. */
  async advance(ms: number): Promise<void> {
    await this.advanceTo(this.#elapsedMs + ms);
  }

  /** As `advance`, up to a point on the monotonic clock. */
  async advanceTo(monotonicMs: number): Promise<void> {
    await settle();
    for (let entry = this.#entries[0]; entry !== undefined && entry.dueMs <= monotonicMs; entry = this.#entries[0]) {
      await this.#fire(entry);
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, monotonicMs);
  }

  /** Jumps to the next timer and fires it; false when there is none. */
  async advanceToNext(): Promise<boolean> {
    await settle();
    const entry = this.#entries[0];
    if (entry === undefined) return false;
    await this.#fire(entry);
    return true;
  }

  /** Time passes and nothing runs, as when the process is suspended: what became due meanwhile is late. */
  suspend(ms: number): void {
    this.#elapsedMs += ms;
  }

  /** Moves the wall clock only, as an administrator or NTP would. */
  shiftWallClock(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  async #fire(entry: Entry): Promise<void> {
    this.#entries.shift();
    this.#elapsedMs = Math.max(this.#elapsedMs, entry.dueMs);
    entry.fire();
    await settle();
  }
}

/** A turn of the event loop: all microtasks that are due, and those they cause, have run. */
export async function settle(): Promise<void> {
  await setImmediate();
}

/** Below the limit of a test, so that the message of `until` is the one that is shown. */
const patienceMs = 20_000;

/**
 * Runs everything that happens without the passing of virtual time, sockets included, until the condition is true. Throws if
 * it is not true after `limitMs` of real time, so that a test that waits for a socket fails instead of running until the whole
 * run is killed.
 */
export async function until(isTrue: () => boolean | Promise<boolean>, limitMs: number = patienceMs): Promise<void> {
  const startedMs = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - startedMs > limitMs) throw new Error(`not so within ${limitMs} ms: ${isTrue.toString()}`);
    await settle();
  }
}
