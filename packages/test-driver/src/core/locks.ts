// SPDX-License-Identifier: Apache-2.0
/**
 * One operation per volume, snapshot, group and name at a time. A concurrent caller is refused with ABORTED
 * at once instead of being queued. This is CSI's answer for "operation pending", and it keeps calls from piling up
 * behind one that hangs. Readers of a source (snapshot, clone) share its lock.
 */
import { refuse } from './refusal.ts';

export interface Claim {
  readonly exclusive: readonly string[];
  readonly shared?: readonly string[];
}

const exclusive = -1;

export class Locks {
  /** Key -> number of sharers, or `exclusive`. */
  readonly #held = new Map<string, number>();

  hold(claim: Claim): Disposable {
    const shared = claim.shared ?? [];
    const busy =
      claim.exclusive.find((key) => this.#held.has(key)) ?? shared.find((key) => this.#held.get(key) === exclusive);
    if (busy !== undefined) refuse('Aborted', `an operation on ${busy} is already in progress`);
    for (const key of claim.exclusive) this.#held.set(key, exclusive);
    for (const key of shared) this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
    return { [Symbol.dispose]: () => this.#release(claim.exclusive, shared) };
  }

  #release(exclusives: readonly string[], shared: readonly string[]): void {
    for (const key of exclusives) this.#held.delete(key);
    for (const key of shared) {
      const sharers = this.#held.get(key) ?? 0;
      if (sharers > 1) this.#held.set(key, sharers - 1);
      else this.#held.delete(key);
    }
  }
}
