// SPDX-License-Identifier: Apache-2.0
/**
 * Placement of a volume. The driver's domains are the distinct segment sets of its nodes; a volume is in exactly one of
 * them. Preferred terms are tried in order, then requisite ones; only a request without requisite may be placed
 * in any other domain.
 */
import type { TopologyRequirement } from '@csi-sidecars/csi';
import type { StringMap } from './records.ts';
import type { Settings } from './settings.ts';
import { canonical } from './string-map.ts';

export function hasTopology(settings: Settings): boolean {
  return settings.capabilities.plugin.includes('VOLUME_ACCESSIBILITY_CONSTRAINTS');
}

/** Alpha, not among the default capabilities: snapshots live in the domain of their volume, and only volumes of that domain are made from them. */
export function hasSnapshotTopology(settings: Settings): boolean {
  return hasTopology(settings) && settings.capabilities.plugin.includes('SNAPSHOT_ACCESSIBILITY_CONSTRAINTS');
}

/** Empty if the driver has no topology: its volumes are reachable from everywhere. */
export function domainsOf(settings: Settings): readonly StringMap[] {
  if (!hasTopology(settings) || settings.nodes === 'any') return [];
  const distinct = new Map<string, StringMap>();
  for (const { segments } of settings.nodes) {
    if (Object.keys(segments).length > 0) distinct.set(canonical(segments), segments);
  }
  return [...distinct.values()];
}

/** Whether a domain lies inside a term; a term with fewer keys is wider. */
export function matches(term: StringMap, domain: StringMap): boolean {
  return Object.entries(term).every(([key, value]) => domain[key] === value);
}

/** The domains a volume may go to, best first. */
export function candidates(domains: readonly StringMap[], requirement: TopologyRequirement | null): StringMap[] {
  if (requirement === null) return [...domains];
  const inside = (terms: TopologyRequirement['requisite']): StringMap[] =>
    terms.flatMap((term) => domains.filter((domain) => matches(term.segments, domain)));
  const requisite = inside(requirement.requisite);
  const preferred = inside(requirement.preferred);
  const rest = requirement.requisite.length > 0 ? requisite : domains;
  const allowed =
    requirement.requisite.length > 0 ? preferred.filter((domain) => requisite.includes(domain)) : preferred;
  return [...new Set([...allowed, ...rest])];
}
