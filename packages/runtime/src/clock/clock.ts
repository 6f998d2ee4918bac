// SPDX-License-Identifier: Apache-2.0
/**
 * The clock port. Everything that waits or measures takes one; only `system-clock.ts` touches the real timers.
 * Durations are measured with `monotonicMs`; `nowMs` is for values that are written or shown to people.
 */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. */
  nowMs(): number;
  /** Monotonic milliseconds since an arbitrary origin; fractions are meaningful. */
  monotonicMs(): number;
  /**
   * Resolves after `ms` (clamped to what a timer can hold and re-armed for the rest, so 30 days is 30 days).
   * Rejects with `signal.reason` as soon as the signal aborts; leaves no timer and no listener behind.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms`. The timer does not keep the process alive. */
  timer(ms: number, fire: () => void): Timer;
  /** Lets the event loop turn once: pending I/O and due timers run. For long work between its slices; no time passes. */
  yieldToLoop(): Promise<void>;
}

export interface Timer extends Disposable {
  cancel(): void;
}
