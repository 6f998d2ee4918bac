// SPDX-License-Identifier: Apache-2.0
/**
 * The waits before an instance of a node takes a claim that binds at once. All instances see the claim at the same time, so each waits for a
 * random time first; after a lost race, or without enough space, the next wait is longer. A wait is an entry here and a delayed run of the
 * claim, so that it holds no worker. The volume loop waits in the same way before it writes a PersistentVolume of another node.
 *
 * The entry is lost with the process, which then begins with the shortest wait again.
 */
import type { Clock, Random } from '@csi-sidecars/runtime';
import type { NodeDeployment } from './settings.ts';
import type { ClaimUid } from './claim/claim.ts';

export interface Ownership<Key extends string = ClaimUid> {
  /** The time that is left of the wait, 0 when it is over; undefined if none has begun. */
  leftMs(key: Key): number | undefined;
  /** Returns how long the wait lasts. */
  begin(key: Key): number;
  /** The attempt after the wait is over; the next wait is longer. */
  end(key: Key): void;
  /** The next wait is the first again. */
  forget(key: Key): void;
}

interface Wait {
  readonly attempts: number;
  readonly untilMs: number | undefined;
}

export interface OwnershipDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly random: Pick<Random, 'next'>;
}

type Delays = Pick<NodeDeployment, 'baseDelayMs' | 'maxDelayMs'>;

export function createOwnership<Key extends string = ClaimUid>(
  { clock, random }: OwnershipDeps,
  delays: Delays = { baseDelayMs: 0, maxDelayMs: 0 },
): Ownership<Key> {
  const waits = new Map<Key, Wait>();
  return {
    leftMs: (key) => {
      const untilMs = waits.get(key)?.untilMs;
      return untilMs === undefined ? undefined : Math.max(untilMs - clock.monotonicMs(), 0);
    },
    begin: (key) => {
      const attempts = waits.get(key)?.attempts ?? 0;
      const delayMs = delayOf(attempts, delays, random.next());
      waits.set(key, { attempts: attempts + 1, untilMs: clock.monotonicMs() + delayMs });
      return delayMs;
    },
    end: (key) => {
      const { attempts = 0 } = waits.get(key) ?? {};
      if (attempts > 0) waits.set(key, { attempts, untilMs: undefined });
    },
    forget: (key) => void waits.delete(key),
  };
}

/** Doubles from the base to the maximum, minus a random part of the base. `random` is between 0 and 1. */
export function delayOf(attempts: number, { baseDelayMs, maxDelayMs }: Delays, random: number): number {
  const nominalMs = Math.min(baseDelayMs * 2 ** attempts, maxDelayMs);
  return Math.max(nominalMs - random * baseDelayMs, 0);
}
