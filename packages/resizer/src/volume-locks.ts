// SPDX-License-Identifier: Apache-2.0
/**
 * Expansion and modification lock the volume that they work on: no two calls about one volume are in flight, and no worker waits. A run
 * locks the volume before its first write and releases it when it ends, whatever happened. The loop that finds the volume locked is
 * woken when it is free, and goes next.
 *
 * | The lock is | asked for by | then |
 * |---|---|---|
 * | free | any loop | taken |
 * | taken, or promised to another | a loop | it waits behind those that came earlier |
 * | promised to the loop that asks | that loop | taken |
 * | released, with loops that wait | | promised to the first of them, which is woken |
 * | promised to a loop whose run ends without taking it | | released |
 */
import { createKeyedLock, type WakeSource } from '@csi-sidecars/runtime';
import type { ClaimKey } from './claim.ts';

export type ResizerLoop = 'expand' | 'modify';

export interface VolumeLocks {
  /** False: another run has the lock, and this key is woken when it is promised to it. */
  take(volumeHandle: string, loop: ResizerLoop, key: ClaimKey): boolean;
  /** Reported at the end of every run. */
  end(loop: ResizerLoop, key: ClaimKey): void;
  readonly onFree: Readonly<Record<ResizerLoop, WakeSource<ClaimKey>>>;
}

interface Asker {
  readonly volumeHandle: string;
  readonly loop: ResizerLoop;
  readonly key: ClaimKey;
  state: 'waiting' | 'promised' | 'taken';
}

export function createVolumeLocks(): VolumeLocks {
  const lock = createKeyedLock<string>();
  const askers = new Set<Asker>();
  /** The runs that found the volume locked, and have not ended. */
  const refused = new Set<string>();
  const wakes: Record<ResizerLoop, ((key: ClaimKey) => void)[]> = { expand: [], modify: [] };
  const askersOf = (loop: ResizerLoop, key: ClaimKey): readonly Asker[] =>
    [...askers].filter((asker) => asker.loop === loop && asker.key === key);

  const ask = (volumeHandle: string, loop: ResizerLoop, key: ClaimKey): Asker => {
    const asker: Asker = { volumeHandle, loop, key, state: 'waiting' };
    askers.add(asker);
    const isFree = !lock.isHeld(volumeHandle);
    lock.acquire(volumeHandle, () => {
      asker.state = 'promised';
      if (!isFree) for (const wake of wakes[loop]) wake(key);
    });
    return asker;
  };

  return {
    take(volumeHandle, loop, key) {
      const known = askersOf(loop, key).find((asker) => asker.volumeHandle === volumeHandle);
      const asker = known ?? ask(volumeHandle, loop, key);
      if (asker.state === 'waiting') {
        refused.add(`${loop} ${key}`);
        return false;
      }
      asker.state = 'taken';
      return true;
    },
    end(loop, key) {
      const isWaiting = refused.delete(`${loop} ${key}`);
      for (const asker of askersOf(loop, key)) {
        if (asker.state === 'waiting' || (asker.state === 'promised' && isWaiting)) continue;
        askers.delete(asker);
        lock.release(asker.volumeHandle);
      }
    },
    onFree: {
      expand: (wake) => {
        wakes.expand.push(wake);
      },
      modify: (wake) => {
        wakes.modify.push(wake);
      },
    },
  };
}
