// SPDX-License-Identifier: Apache-2.0
/** The last decision of each key, of so many keys: a key that is decided again becomes the newest. */
export interface LastDecision {
  readonly row: string;
  readonly action: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly tookMs: number;
  /** Of the failure, as its error names it; undefined: none, or it has none. */
  readonly code: string | undefined;
  /** Of the failure; empty: none. As safe to show as `shownText` makes it. */
  readonly text: string;
  /** Of the object. */
  readonly uid: string | undefined;
}

export class LastDecisions {
  readonly #most: number;
  readonly #decisions = new Map<string, LastDecision>();

  constructor(most: number) {
    this.#most = most;
  }

  get(loop: string, key: string): LastDecision | undefined {
    return this.#decisions.get(idOf(loop, key));
  }

  put(loop: string, key: string, decision: LastDecision): void {
    const id = idOf(loop, key);
    this.#decisions.delete(id);
    this.#decisions.set(id, decision);
    if (this.#decisions.size <= this.#most) return;
    const [oldest] = this.#decisions.keys();
    this.#decisions.delete(oldest!);
  }

  delete(loop: string, key: string): void {
    this.#decisions.delete(idOf(loop, key));
  }

  /** The key of the newest decision about the object. Passes over all of them. */
  keyOf(loop: string, uid: string): string | undefined {
    let found: string | undefined;
    const prefix = idOf(loop, '');
    for (const [id, decision] of this.#decisions)
      if (decision.uid === uid && id.startsWith(prefix)) found = id.slice(prefix.length);
    return found;
  }
}

/** No name of a loop has a line feed. */
function idOf(loop: string, key: string): string {
  return `${loop}\n${key}`;
}
