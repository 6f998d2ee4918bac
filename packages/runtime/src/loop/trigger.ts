// SPDX-License-Identifier: Apache-2.0
/** Lets one loop wake keys of another without a reference to it: one calls `wake`, the other has `source` among its sources. */
import type { WakeSource, When } from './loop.ts';

export interface Trigger<Key extends string> {
  readonly source: WakeSource<Key>;
  wake(key: Key, when?: When): void;
}

export function createTrigger<Key extends string>(): Trigger<Key> {
  const listeners: ((key: Key, when?: When) => void)[] = [];
  return {
    source: (listener) => {
      listeners.push(listener);
    },
    wake: (key, when = 'now') => {
      for (const listener of listeners) listener(key, when);
    },
  };
}
