// SPDX-License-Identifier: Apache-2.0
/**
 * Expansion and modification take turns on a volume: no two calls about one volume are in flight, and no worker waits. A run
 * takes the turn before its first write and gives it back when it ends, whatever happened. The loop that finds the turn taken is
 * woken when it is free, and goes next.
 *
 * | The turn is | asked by | then |
 * |---|---|---|
 * | free | any loop | taken |
 * | taken or promised to the other loop | a loop | promised to it next |
 * | promised to the loop that asks | that loop | taken |
 * | given back, with a loop that waits | | promised to that loop, which is woken |
 * | promised to a loop whose run ends without taking it | | given back |
 */
import type { WakeSource } from '@csi-sidecars/runtime';
import type { ClaimKey } from './claim.ts';

export type Turn = 'expand' | 'modify';

export interface VolumeTurns {
  /** False: the other loop has the turn, and this one is woken when it is free. */
  take(volumeHandle: string, turn: Turn, key: ClaimKey): boolean;
  /** Reported at the end of every run. `isWaiting`: the run ended because the turn was taken. */
  end(turn: Turn, key: ClaimKey, isWaiting: boolean): void;
  readonly onFree: Readonly<Record<Turn, WakeSource<ClaimKey>>>;
}

interface Holder {
  readonly turn: Turn;
  readonly key: ClaimKey;
  isTaken: boolean;
}

export function createVolumeTurns(): VolumeTurns {
  const holders = new Map<string, Holder>();
  const waiting = new Map<string, Holder>();
  const wakes: Record<Turn, ((key: ClaimKey) => void)[]> = { expand: [], modify: [] };

  const giveBack = (volumeHandle: string): void => {
    holders.delete(volumeHandle);
    const next = waiting.get(volumeHandle);
    if (next === undefined) return;
    waiting.delete(volumeHandle);
    holders.set(volumeHandle, next);
    for (const wake of wakes[next.turn]) wake(next.key);
  };

  return {
    take(volumeHandle, turn, key) {
      const holder = holders.get(volumeHandle);
      if (holder === undefined) {
        holders.set(volumeHandle, { turn, key, isTaken: true });
        return true;
      }
      if (holder.turn === turn && holder.key === key) {
        holder.isTaken = true;
        return true;
      }
      waiting.set(volumeHandle, { turn, key, isTaken: false });
      return false;
    },
    end(turn, key, isWaiting) {
      for (const [volumeHandle, holder] of holders) {
        const isOwn = holder.turn === turn && holder.key === key;
        if (isOwn && (holder.isTaken || !isWaiting)) giveBack(volumeHandle);
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
