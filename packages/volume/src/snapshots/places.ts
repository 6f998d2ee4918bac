// SPDX-License-Identifier: Apache-2.0
/**
 * The places where a snapshot can be used (alpha, KEP-5943): `spec.nodeAffinity` of a content and `allowedTopologies` of a class. Both are lists
 * of selector terms. One of the terms must match; a term matches if all of its expressions do, and an expression if one of its values does.
 *
 * The fields come from definitions that are not released yet, so nothing is taken for granted about their shape, and a limit holds for
 * everything that could be multiplied.
 */
import type { Topology } from '../node-affinity.ts';
import { ok, refuse, type Result } from '../result.ts';
import type { TopologySelectorTerm } from './objects.ts';

/** One alternative: each key has one of its values. Sorted by key. Never empty, and no key is without a value. */
export type Place = ReadonlyMap<string, readonly string[]>;

/** How many topologies a list of places may stand for, as a request names them. */
export const mostTopologies = 10_000;
/** How many pairs of terms are compared. */
const mostPairs = 1_000_000;

/**
 * Undefined: the field names no restriction, because it is absent, null or an empty list. As in Kubernetes, a term without expressions and an
 * expression without values match nothing. A list of such terms only is refused: it says that the snapshot can be used nowhere.
 */
export function readPlaces(field: unknown): Result<readonly Place[] | undefined> {
  if (field === undefined || field === null) return ok(undefined);
  if (!Array.isArray(field)) return refuse('it is not a list');
  const terms: readonly unknown[] = field;
  if (terms.length === 0) return ok(undefined);
  const places: Place[] = [];
  for (const term of terms) {
    const place = readTerm(term);
    if (place.kind === 'error') return place;
    if (place.value !== undefined) places.push(place.value);
  }
  if (places.length === 0) return refuse('its terms match nothing');
  return sizeOf(places) > mostTopologies ? refuse(`it stands for more than ${mostTopologies} topologies`) : ok(places);
}

/** Undefined: it matches nothing. */
function readTerm(term: unknown): Result<Place | undefined> {
  const expressions = isObject(term) ? (term['matchLabelExpressions'] ?? []) : undefined;
  if (!Array.isArray(expressions)) return refuse('a term has no list of matchLabelExpressions');
  const place = new Map<string, readonly string[]>();
  for (const expression of expressions as readonly unknown[]) {
    const { key, values = [] } = isObject(expression) ? expression : { key: undefined };
    if (typeof key !== 'string' || key === '' || !isListOfTexts(values)) {
      return refuse('an expression has no key, or values that are no list of strings');
    }
    const before = place.get(key);
    place.set(key, before === undefined ? [...new Set(values)] : inBoth(before, values));
  }
  const isPossible = place.size > 0 && [...place.values()].every((values) => values.length > 0);
  return ok(isPossible ? sorted(place) : undefined);
}

/** In the order of `values`, without repetitions. */
function inBoth(others: readonly string[], values: readonly string[]): readonly string[] {
  const known = new Set(others);
  return [...new Set(values)].filter((value) => known.has(value));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function sorted(place: Place): Place {
  return new Map([...place].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function sizeOf(places: readonly Place[]): number {
  return places.reduce(
    (sum, place) => sum + [...place.values()].reduce((product, { length }) => product * length, 1),
    0,
  );
}

/**
 * From the topologies of a driver's answer to a list of terms, in their order: one expression with one value for each segment. Equal topologies
 * give one term, a topology without segments gives none. Undefined: nothing is left.
 */
export function toSelectorTerms(topologies: readonly Topology[]): readonly TopologySelectorTerm[] | undefined {
  const terms = new Map<string, TopologySelectorTerm>();
  for (const { segments = {} } of topologies) {
    const keys = Object.keys(segments).sort();
    const matchLabelExpressions = keys.map((key) => ({ key, values: [segments[key] ?? ''] }));
    if (keys.length > 0) terms.set(JSON.stringify(matchLabelExpressions), { matchLabelExpressions });
  }
  return terms.size === 0 ? undefined : [...terms.values()];
}

/** Whether the field names exactly these terms, in any order and spelling: a driver may answer in another order each time. */
export function namesTerms(field: unknown, terms: readonly TopologySelectorTerm[]): boolean {
  const [stored, wanted] = [readPlaces(field), readPlaces(terms)];
  if (stored.kind === 'error' || wanted.kind === 'error') return false;
  const textOf = (places: readonly Place[] = []): string =>
    JSON.stringify(places.map((place) => JSON.stringify([...place])).sort());
  return textOf(stored.value) === textOf(wanted.value);
}

/** Every topology that the places stand for, without repetitions. */
export function toTopologies(places: readonly Place[]): readonly Required<Topology>[] {
  const topologies = new Map<string, Required<Topology>>();
  for (const place of places) {
    let some: readonly Readonly<Record<string, string>>[] = [{}];
    for (const [key, values] of place) {
      some = some.flatMap((segments) => values.map((value) => ({ ...segments, [key]: value })));
    }
    for (const segments of some) topologies.set(JSON.stringify(segments), { segments });
  }
  return [...topologies.values()];
}

/**
 * What both lists permit, pair by pair: common keys have the values that both name, other keys are kept. Empty: nothing. Refused: the lists
 * are too large to be compared.
 */
export function intersectPlaces(left: readonly Place[], right: readonly Place[]): Result<readonly Place[]> {
  if (left.length * right.length > mostPairs) return refuse('there are too many terms to compare');
  const common = left.flatMap((one) => right.flatMap((other) => intersection(one, other) ?? []));
  return sizeOf(common) > mostTopologies
    ? refuse(`they have more than ${mostTopologies} topologies in common`)
    : ok(common);
}

function intersection(left: Place, right: Place): Place | undefined {
  const both = new Map(left);
  for (const [key, values] of right) {
    const others = both.get(key);
    const common = others === undefined ? values : inBoth(others, values);
    if (common.length === 0) return undefined;
    both.set(key, common);
  }
  return sorted(both);
}

export function toTerms(places: readonly Place[]): readonly TopologySelectorTerm[] {
  return places.map((place) => ({
    matchLabelExpressions: [...place].map(([key, values]) => ({ key, values })),
  }));
}

/**
 * Whether a node with these labels is certainly outside of all places: in each of them a label that the node has must have another value. A label
 * that the node lacks proves nothing, because it may come later.
 */
export function isOutside(places: readonly Place[], labels: Readonly<Record<string, string>>): boolean {
  return places.every((place) =>
    [...place].some(([key, values]) => Object.hasOwn(labels, key) && !values.includes(labels[key] ?? '')),
  );
}
