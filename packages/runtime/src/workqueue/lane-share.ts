// SPDX-License-Identifier: Apache-2.0
/**
 * Decides which of two lanes gets a free slot while keys wait in both.
 *
 * The preferred lane has it as long as it has credit. Its work costs credit while the other lane waits; the other lane's work
 * earns it three times as much. Without credit the other lane has the slot, until it holds a quarter of all.
 *
 * So a burst of preferred work is not held up at all, neither lane can starve, and under endless load from both sides the
 * other lane has a quarter of the slot time, however long the calls of either take. What counts is time, because a count of
 * keys would let one slow call of one lane weigh as much as one fast call of the other.
 */

/** Slot time the preferred lane may take ahead of its share: 300 calls of a tenth of a second, or two that hang for 15 s. */
const limitMs = 30_000;

/** The number of slots of the preferred lane for one slot of the other. The ratio of slot time is the same. */
const preferredPerOther = 3;

export class LaneShare {
  #creditMs = limitMs;

  /** Number of slots that are taken, not counting the free one. */
  prefers({ otherInFlight, inFlight }: { readonly otherInFlight: number; readonly inFlight: number }): boolean {
    return this.#creditMs > 0 || otherInFlight * (preferredPerOther + 1) > inFlight;
  }

  preferredRan(ms: number): void {
    this.#creditMs = Math.max(-limitMs, this.#creditMs - atLeastOne(ms));
  }

  otherRan(ms: number): void {
    this.#creditMs = Math.min(limitMs, this.#creditMs + preferredPerOther * atLeastOne(ms));
  }
}

/** Work that takes no time still took a turn; otherwise an endless stream of it would never use up its credit. */
const atLeastOne = (ms: number): number => Math.max(1, ms);
