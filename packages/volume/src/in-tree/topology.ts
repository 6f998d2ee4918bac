// SPDX-License-Identifier: Apache-2.0
/**
 * Translates the topology of a volume between the driver's keys and the labels of Kubernetes, which in-tree volumes have in their node
 * affinity and, for older schedulers, among their own labels. Pure.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import type { VolumeNodeAffinity } from '../node-selector.ts';
import { ok, refuse, type Result } from '../result.ts';
import type { TopologyTranslation } from './provider.ts';
import { betaRegionLabel, betaZoneLabel, regionLabel, zoneDelimiter, zoneLabel } from './regions.ts';

export interface InTreeTopology {
  readonly nodeAffinity: VolumeNodeAffinity | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

type Terms = NonNullable<VolumeNodeAffinity['required']>['nodeSelectorTerms'];

/** From the driver's keys to labels of Kubernetes. */
export function toInTreeTopology(volume: PersistentVolume, translation: TopologyTranslation): Result<InTreeTopology> {
  const { zoneKey, regionKey, toRegion } = translation;
  const known = labelsUsedBy(volume);
  const keys = new Map([
    [zoneKey, known.zone],
    [regionKey, known.region],
  ]);
  const renamed = withKeys(termsOf(volume), keys);
  const terms = toRegion === undefined ? ok(renamed) : withRegions(renamed, { known, toRegion });
  if (terms.kind === 'error') {
    const name = volume.metadata?.name ?? '';
    return refuse(
      `failed to translate topology. PV:${name}. Error:Failed to handle region topology. error: ${terms.message}`,
    );
  }
  const zones = valuesOf(terms.value, known.zone);
  const [region, ...otherRegions] = valuesOf(terms.value, known.region);
  // vSphere, whose driver has a key for regions, never had volumes in several zones.
  const zone = (regionKey === undefined ? zones : zones.slice(0, 1)).join(zoneDelimiter);
  const isNamed = regionKey !== undefined || (toRegion !== undefined && otherRegions.length === 0);
  return ok({
    nodeAffinity: withTerms(volume, terms.value),
    labels: {
      ...(zones.length === 0 ? {} : { [known.zone]: zone }),
      ...(isNamed && region !== undefined ? { [known.region]: region } : {}),
      ...volume.metadata?.labels,
    },
  });
}

/** From labels of Kubernetes to the driver's keys. Volumes of old clusters have their zone among their labels only. */
export function toCsiAffinity(
  volume: PersistentVolume,
  { zoneKey, regionKey }: TopologyTranslation,
): VolumeNodeAffinity | undefined {
  const known = labelsUsedBy(volume);
  const labels = volume.metadata?.labels ?? {};
  let terms = termsOf(volume);
  const translate = (label: string, key: string, split: (text: string) => readonly string[]): void => {
    if (valuesOf(terms, label).length > 0) {
      terms = withKeys(terms, new Map([[label, key]]));
      return;
    }
    const values = [...new Set(split(labels[label] ?? ''))].filter((text) => text !== '').sort();
    if (values.length > 0) terms = withRequirement(terms, key, values);
  };
  if (regionKey === undefined) {
    translate(known.zone, zoneKey, (text) => text.split(zoneDelimiter));
    // Nodes have only the stable label any more.
    if (known.region === betaRegionLabel) terms = withKeys(terms, new Map([[betaRegionLabel, regionLabel]]));
  } else {
    translate(known.zone, zoneKey, (text) => [text]);
    translate(known.region, regionKey, (text) => [text]);
  }
  return withTerms(volume, terms);
}

interface Labels {
  readonly zone: string;
  readonly region: string;
}

/** The stable labels, unless the volume already uses the beta ones. */
function labelsUsedBy(volume: PersistentVolume): Labels {
  const stable = { zone: zoneLabel, region: regionLabel };
  const beta = { zone: betaZoneLabel, region: betaRegionLabel };
  const terms = termsOf(volume);
  const labels = volume.metadata?.labels ?? {};
  if (hasKey(terms, zoneLabel)) return stable;
  if (hasKey(terms, betaZoneLabel)) return beta;
  if (Object.hasOwn(labels, zoneLabel)) return stable;
  return Object.hasOwn(labels, betaZoneLabel) ? beta : stable;
}

function termsOf({ spec }: PersistentVolume): Terms {
  return spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
}

function withTerms({ spec }: PersistentVolume, terms: Terms): VolumeNodeAffinity | undefined {
  return terms.length === 0 ? spec?.nodeAffinity : { required: { nodeSelectorTerms: terms } };
}

function hasKey(terms: Terms, key: string): boolean {
  return terms.some(({ matchExpressions = [] }) => matchExpressions.some((expression) => expression.key === key));
}

/** The values of all terms, because the terms are alternatives. */
function valuesOf(terms: Terms, key: string): readonly string[] {
  const values = terms.flatMap(({ matchExpressions = [] }) =>
    matchExpressions.filter((expression) => expression.key === key).flatMap((expression) => expression.values ?? []),
  );
  return [...new Set(values)].sort();
}

function withKeys(terms: Terms, keys: ReadonlyMap<string | undefined, string>): Terms {
  return terms.map((term) => {
    if (term.matchExpressions === undefined) return term;
    const matchExpressions = term.matchExpressions.map((expression) => ({
      ...expression,
      key: keys.get(expression.key) ?? expression.key,
    }));
    return { ...term, matchExpressions };
  });
}

function withRequirement(terms: Terms, key: string, values: readonly string[]): Terms {
  const added = { key, operator: 'In', values };
  return (terms.length === 0 ? [{}] : terms).map((term) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), added],
  }));
}

interface Regions {
  readonly known: Labels;
  readonly toRegion: NonNullable<TopologyTranslation['toRegion']>;
}

/** A term that names its region stays as it is. */
function withRegions(terms: Terms, { known, toRegion }: Regions): Result<Terms> {
  const translated: Terms[number][] = [];
  for (const term of terms) {
    if (hasKey([term], known.region)) {
      translated.push(term);
      continue;
    }
    const zones = (term.matchExpressions ?? [])
      .filter(({ key }) => key === known.zone)
      .flatMap(({ values = [] }) => values);
    const region = toRegion(zones);
    if (region.kind === 'error') return region;
    translated.push(...withRequirement([term], known.region, [region.value]));
  }
  return ok(translated);
}
