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

/** The labels by which Kubernetes names zones and regions, on nodes, on PersistentVolumes and in their node affinity. */
export const zoneLabel = 'topology.kubernetes.io/zone';
export const regionLabel = 'topology.kubernetes.io/region';
export const betaZoneLabel = 'failure-domain.beta.kubernetes.io/zone';
export const betaRegionLabel = 'failure-domain.beta.kubernetes.io/region';
/** Between the zones in the label of a PersistentVolume that is in several. */
export const zoneDelimiter = '__';
