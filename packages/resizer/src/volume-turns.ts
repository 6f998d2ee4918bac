// SPDX-License-Identifier: Apache-2.0
/**
 * Expansion and modification take turns on a volume: no two calls about one volume are in flight, and no worker waits. A run
 * takes the turn before its first write and gives it back when it ends, whatever happened. The loop that finds the turn taken is
 * woken when it is free, and goes next.
 *
 * | The turn is | asked by | then |
 * |---|---|---|
 * | free | any loop | taken |
 * | taken, or promised to another | a loop | it waits behind those that came earlier |
 * | promised to the loop that asks | that loop | taken |
 * | given back, with loops that wait | | promised to the first of them, which is woken |
 * | promised to a loop whose run ends without taking it | | given back |
 */
import type { WakeSource } from '@csi-sidecars/runtime';
import type { ClaimKey } from './claim.ts';

export type Turn = 'expand' | 'modify';

export interface VolumeTurns {
  /** False: another run has the turn, and this key is woken when its turn comes. */
  take(volumeHandle: string, turn: Turn, key: ClaimKey): boolean;
  /** Reported at the end of every run. */
  end(turn: Turn, key: ClaimKey): void;
  readonly onFree: Readonly<Record<Turn, WakeSource<ClaimKey>>>;
}

interface Asker {
  readonly turn: Turn;
  readonly key: ClaimKey;
}

interface Holder extends Asker {
  /** False: it is promised, and its run has not taken it yet. */
  isTaken: boolean;
}

export function createVolumeTurns(): VolumeTurns {
  const holders = new Map<string, Holder>();
  /** In the order in which they came: with two claims on one volume it may be more than one. */
  const waiting = new Map<string, Asker[]>();
  /** The runs that found the turn taken, and have not ended. */
  const refused = new Set<string>();
  const wakes: Record<Turn, ((key: ClaimKey) => void)[]> = { expand: [], modify: [] };

  const giveBack = (volumeHandle: string): void => {
    holders.delete(volumeHandle);
    const queue = waiting.get(volumeHandle) ?? [];
    const next = queue.shift();
    if (queue.length === 0) waiting.delete(volumeHandle);
    if (next === undefined) return;
    holders.set(volumeHandle, { ...next, isTaken: false });
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
      const queue = waiting.get(volumeHandle) ?? [];
      if (!queue.some((asker) => asker.turn === turn && asker.key === key)) queue.push({ turn, key });
      waiting.set(volumeHandle, queue);
      refused.add(`${turn} ${key}`);
      return false;
    },
    end(turn, key) {
      const isWaiting = refused.delete(`${turn} ${key}`);
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
