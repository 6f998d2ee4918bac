// SPDX-License-Identifier: Apache-2.0
/**
 * Keys that are to be retried slowly for a while. The first entry of a key counts: adding it again while it is there
 * neither renews its time nor replaces its data, and the sweeper alone removes what is over. So an entry that has expired
 * but is not swept yet is no longer contained and still keeps its place, for a tenth of a second at most.
 */
import type { Clock } from '../clock/clock.ts';

export interface SlowSet<Key extends string, Data> {
  /** False when the key is there already, expired or not. */
  add(key: Key, data: Data): boolean;
  /** Removes the key, whatever its age. */
  get(key: Key): Data | undefined;
  /** Present and not expired. */
  contains(key: Key): boolean;
  remove(key: Key): void;
  /** Negative for a key that is expired and not swept yet; 0 for an absent key. */
  timeRemainingMs(key: Key): number;
  /** Sweeps until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const sweepPeriodMs = 100;

export function createSlowSet<Key extends string, Data>(clock: Clock, retentionMs: number): SlowSet<Key, Data> {
  const entries = new Map<Key, { readonly addedMs: number; readonly data: Data }>();
  const ageMs = (addedMs: number): number => clock.monotonicMs() - addedMs;

  return {
    add: (key, data) => {
      if (entries.has(key)) return false;
      entries.set(key, { addedMs: clock.monotonicMs(), data });
      return true;
    },
    get: (key) => entries.get(key)?.data,
    contains: (key) => {
      const entry = entries.get(key);
      return entry !== undefined && ageMs(entry.addedMs) < retentionMs;
    },
    remove: (key) => void entries.delete(key),
    timeRemainingMs: (key) => {
      const entry = entries.get(key);
      return entry === undefined ? 0 : retentionMs - ageMs(entry.addedMs);
    },
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          await clock.sleep(sweepPeriodMs, signal);
        } catch {
          return;
        }
        for (const [key, { addedMs }] of entries) if (ageMs(addedMs) > retentionMs) entries.delete(key);
      }
    },
  };
}
