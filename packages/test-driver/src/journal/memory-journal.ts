// SPDX-License-Identifier: Apache-2.0
/** The journal of the model: complete calls, secrets included, for assertions on whole lists. */
import type { Clock } from '@csi-sidecars/runtime';
import type { Journal, RecordedCall } from './journal.ts';

export class MemoryJournal implements Journal {
  readonly #clock: Clock;
  #calls: RecordedCall[] = [];
  #lastSeq = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Oldest first. */
  get calls(): readonly RecordedCall[] {
    return this.#calls;
  }

  /** Forgets all calls; later numbers continue after the last one. */
  forget(): void {
    this.#calls = [];
  }

  begin: Journal['begin'] = async (call) => {
    const seq = ++this.#lastSeq;
    this.#calls.push({ ...call, seq, beganAtMs: this.#clock.nowMs(), endedAtMs: undefined, outcome: undefined });
    return seq;
  };

  end: Journal['end'] = async (seq, outcome) => {
    const index = this.#calls.findLastIndex((call) => call.seq === seq);
    const call = this.#calls[index];
    if (call !== undefined) this.#calls[index] = { ...call, endedAtMs: this.#clock.nowMs(), outcome };
  };
}
