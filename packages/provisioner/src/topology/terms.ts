// SPDX-License-Identifier: Apache-2.0
/**
 * The algebra of topology terms. A term is an AND of segments, sorted by key; a list of terms is an OR. It does not depend
 * on nodes, claims or classes.
 */
import type { StorageClass } from '@csi-sidecars/runtime';

export type Segment = readonly [key: string, value: string];
/** Sorted by key, then by value: build with `toTerm`. */
export type Term = readonly Segment[];

export type AllowedTopologies = NonNullable<StorageClass['allowedTopologies']>;

export function toTerm(segments: readonly Segment[]): Term {
  return [...segments].sort(compareSegments);
}

/** Shorter terms first; equal lengths pairwise by key, then value. */
export function compareTerms(left: Term, right: Term): number {
  if (left.length !== right.length) return left.length - right.length;
  for (const [index, segment] of left.entries()) {
    const other = right[index];
    const order = other === undefined ? 0 : compareSegments(segment, other);
    if (order !== 0) return order;
  }
  return 0;
}

/** Every segment of `term` occurs in `other`, so the nodes of `other` are also in `term`. */
export function isSubset(term: Term, other: Term): boolean {
  return term.every(([key, value]) => other.some((segment) => segment[0] === key && segment[1] === value));
}

/** In the order for the request, without exact duplicates. A term that is a subset of another stays. */
export function sortUnique(terms: readonly Term[]): readonly Term[] {
  const sorted = [...terms].sort(compareTerms);
  return sorted.filter((term, index) => {
    const previous = sorted[index - 1];
    return previous === undefined || compareTerms(previous, term) !== 0;
  });
}

/** `terms[first..]` followed by `terms[..first]`. */
export function rotate(terms: readonly Term[], first: number): readonly Term[] {
  return [...terms.slice(first), ...terms.slice(0, first)];
}

/**
 * allowedTopologies as one list of terms: every combination of the values of a selector term's expressions. As upstream,
 * an expression without values clears the values collected before it in the same selector term.
 */
export function flatten(allowed: AllowedTopologies): readonly Term[] {
  return allowed.flatMap((selector) => {
    let terms: readonly (readonly Segment[])[] = [];
    for (const { key, values } of selector.matchLabelExpressions ?? []) {
      const bases = terms.length === 0 ? [[]] : terms;
      terms = values.flatMap((value) => bases.map((base) => [...base, [key, value] as const]));
    }
    return terms.map(toTerm);
  });
}

/** The format in which Go prints it in upstream's messages. */
export function formatTerm(term: Term): string {
  return `[${term.map(([key, value]) => `{${key} ${value}}`).join(' ')}]`;
}

export function formatTerms(terms: readonly Term[]): string {
  return `[${terms.map(formatTerm).join(' ')}]`;
}

function compareSegments(left: Segment, right: Segment): number {
  return compareText(left[0], right[0]) || compareText(left[1], right[1]);
}

export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
