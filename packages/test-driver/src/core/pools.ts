// SPDX-License-Identifier: Apache-2.0
/**
 * Finite storage. Without pools space is unlimited and the parameter `kind` has no meaning. Space is used by records,
 * including unfinished ones, so that two concurrent calls cannot share the last byte.
 */
import type { StringMap, VolumeRecord } from './records.ts';
import { refuse } from './refusal.ts';
import type { Pool, Settings } from './settings.ts';
import { canonical } from './string-map.ts';
import { matches } from './topology.ts';

export function poolKey(pool: Pool): string {
  return pool.segments === undefined ? pool.kind : `${pool.kind}@${canonical(pool.segments)}`;
}

export function freeBytes(pool: Pool, volumes: readonly VolumeRecord[]): bigint {
  const key = poolKey(pool);
  const used = volumes.reduce((sum, volume) => (volume.pool === key ? sum + volume.capacityBytes : sum), 0n);
  return used > pool.totalBytes ? 0n : pool.totalBytes - used;
}

/** Pools of a kind (of any kind when none is named) that can serve a domain. */
export function poolsFor(
  settings: Settings,
  want: { kind: string | undefined; domain: StringMap | undefined },
): Pool[] {
  return settings.pools.filter(
    (pool) =>
      (want.kind === undefined || pool.kind === want.kind) &&
      (pool.segments === undefined || want.domain === undefined || matches(pool.segments, want.domain)),
  );
}

export interface Placement {
  readonly pool: string | undefined;
  readonly segments: StringMap | undefined;
}

export interface PlacementWish {
  readonly bytes: bigint;
  readonly kind: string | undefined;
  /** Best first; empty if the driver has no topology. */
  readonly domains: readonly StringMap[];
}

/** The first domain with enough space, and the fullest pool in it that still has enough (so that large requests keep fitting). */
export function place(settings: Settings, volumes: readonly VolumeRecord[], wish: PlacementWish): Placement {
  if (settings.pools.length === 0) {
    if (wish.kind !== undefined) {
      refuse('InvalidArgument', `capacity is not tracked, so kind ${wish.kind} does not exist`);
    }
    return { pool: undefined, segments: wish.domains[0] };
  }
  for (const domain of wish.domains.length > 0 ? wish.domains : [undefined]) {
    const roomy = poolsFor(settings, { kind: wish.kind, domain })
      .map((pool) => ({ pool, free: freeBytes(pool, volumes) }))
      .filter(({ free }) => free >= wish.bytes)
      .sort((a, b) => Number(a.free - b.free));
    if (roomy[0] !== undefined) return { pool: poolKey(roomy[0].pool), segments: domain };
  }
  const what = wish.kind === undefined ? 'any kind' : `kind ${wish.kind}`;
  return refuse('ResourceExhausted', `no storage of ${what} has ${wish.bytes} bytes left in the requested topology`);
}
