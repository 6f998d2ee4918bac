// SPDX-License-Identifier: Apache-2.0
/** One lock for each key, handed on in the order in which it was asked for. With one key it is a serial queue. */
export interface KeyedLock<Key> {
  isHeld(key: Key): boolean;
  /** Calls `onHeld` when the lock of this key is held: at once if it is free. Nothing waits for it meanwhile. */
  acquire(key: Key, onHeld: () => void): void;
  /** By the one that holds it. */
  release(key: Key): void;
  /** Runs the work while the lock is held, whatever became of earlier work. */
  run<R>(key: Key, work: () => Promise<R> | R): Promise<R>;
}

export function createKeyedLock<Key>(): KeyedLock<Key> {
  /** The first of a queue holds the lock. */
  const queues = new Map<Key, (() => void)[]>();
  const acquire = (key: Key, onHeld: () => void): void => {
    const queue = queues.get(key);
    if (queue !== undefined) {
      queue.push(onHeld);
      return;
    }
    queues.set(key, [onHeld]);
    onHeld();
  };
  const release = (key: Key): void => {
    const queue = queues.get(key);
    queue?.shift();
    const next = queue?.[0];
    if (next === undefined) queues.delete(key);
    else next();
  };
  return {
    isHeld: (key) => queues.has(key),
    acquire,
    release,
    async run(key, work) {
      await new Promise<void>((resolve) => acquire(key, resolve));
      try {
        return await work();
      } finally {
        release(key);
      }
    },
  };
}
