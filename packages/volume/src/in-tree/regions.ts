// SPDX-License-Identifier: Apache-2.0
/** The region of zones, from the names that a cloud gives them. */
import { refuse, ok, type Result } from '../result.ts';

/** Exactly one, with upstream's texts. */
export function regionOf(zones: readonly string[], toRegion: (zone: string) => Result<string>): Result<string> {
  const regions = new Set<string>();
  if (zones.length === 0) return refuse('no zones specified');
  for (const zone of zones) {
    const region = toRegion(zone);
    if (region.kind === 'error') return region;
    regions.add(region.value);
  }
  const [first = '', ...others] = [...regions].sort();
  if (others.length === 0) return ok(first);
  const set = [first, ...others].map((name) => `${name}:{}`).join(' ');
  return refuse(`multiple or no regions gotten from zones, got: map[${set}]`);
}
