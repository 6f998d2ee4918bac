// SPDX-License-Identifier: Apache-2.0
/**
 * Which process is killed, in which order, and when, is decided by a seed. The calls that a kill has hit are read from the driver's
 * journal afterwards. A killed driver leaves calls that began and never ended; for another victim, the calls are those that
 * were in progress when it died.
 */
import type { Random } from '@csi-sidecars/runtime';
import type { RecordedCall } from '@csi-sidecars/test-driver';
import type { ControllerName } from '../../processes/program.ts';

export type Victim = 'driver' | 'kube-apiserver' | ControllerName;
export type KillCounts = Readonly<Partial<Record<Victim, number>>>;

export interface PlannedKill {
  readonly victim: Victim;
  /** For a victim without calls of its own: the delay after the start of the work that the kill should disturb. */
  readonly afterMs: number;
  /** For a victim whose calls the kill should hit: the share of the work whose calls begin before the kill. */
  readonly progress: number;
  /** How long the driver takes from then on: before a call has its effect, and after. */
  readonly delays: { readonly beforeMs: number; readonly afterMs: number };
}

export interface Kill {
  readonly victim: Victim;
  readonly atMs: number;
  readonly goneMs: number;
}

/** Where one sidecar is under test: twenty kills in a run with full load, and half of them otherwise. */
export function killsOf(sidecar: ControllerName, load: 'full' | 'tenth'): KillCounts {
  return load === 'full'
    ? { driver: 8, [sidecar]: 8, 'kube-apiserver': 4 }
    : { driver: 4, [sidecar]: 4, 'kube-apiserver': 2 };
}

export function planKills(random: Random, counts: KillCounts): readonly PlannedKill[] {
  const between = (from: number, to: number): number => Math.round(from + random.next() * (to - from));
  const victims = (Object.keys(counts) as Victim[]).flatMap((victim) =>
    Array<Victim>(counts[victim] ?? 0).fill(victim),
  );
  return shuffled(victims, random).map((victim) => ({
    victim,
    afterMs: between(50, 800),
    progress: random.next() / 2,
    delays: { beforeMs: between(25, 150), afterMs: between(25, 150) },
  }));
}

export function callsHit(kills: readonly Kill[], calls: readonly RecordedCall[]): readonly RecordedCall[][] {
  return kills.map(({ victim, atMs, goneMs }, index) => {
    if (victim !== 'driver') {
      return calls.filter(
        ({ beganAtMs, endedAtMs = Infinity }) =>
          beganAtMs <= atMs && endedAtMs >= goneMs && !diedBefore(beganAtMs, atMs),
      );
    }
    const bornMs = kills.slice(0, index).findLast((kill) => kill.victim === 'driver')?.goneMs ?? 0;
    return calls.filter(({ outcome, beganAtMs }) => outcome === undefined && beganAtMs > bornMs && beganAtMs <= goneMs);
  });

  /** The driver that had begun the call was dead by then. */
  function diedBefore(beganAtMs: number, atMs: number): boolean {
    return kills.some((kill) => kill.victim === 'driver' && kill.goneMs >= beganAtMs && kill.goneMs <= atMs);
  }
}

function shuffled<T>(list: readonly T[], random: Random): readonly T[] {
  return list
    .map((value) => ({ value, at: random.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
