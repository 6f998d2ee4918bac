// SPDX-License-Identifier: Apache-2.0
/**
 * The topology segments of a driver: the distinct terms of the nodes on which it is registered. A driver that registers no keys has one
 * segment, which is empty and stands for every node.
 *
 * Not here: which change of a node concerns the segments, and when they are computed again (`segments/`).
 */
import type { CSINode, Node } from '@csi-sidecars/runtime';
import { driverOn } from '@csi-sidecars/volume';
import { registeredKeys, termOf } from './node-terms.ts';
import type { ClusterTopology } from './requirement.ts';
import { compareTerms, type Term } from './terms.ts';

declare const segmentId: unique symbol;
/** `zone=a,rack=b`: equal for equal terms. Minted by `segmentIdOf` only. */
export type SegmentId = string & { readonly [segmentId]: true };

export type Segments = ReadonlyMap<SegmentId, Term>;

/** What the capacity loop reads: the segments of the last pass, or that of the own node with `--node-deployment`. */
export interface SegmentSource {
  /** Undefined: they are not known yet. */
  current(): Segments | undefined;
}

export interface SegmentMemory extends SegmentSource {
  replace(segments: Segments): void;
}

export function createSegmentMemory(): SegmentMemory {
  let segments: Segments | undefined;
  return {
    current: () => segments,
    replace: (next) => {
      segments = next;
    },
  };
}

export function segmentIdOf(term: Term): SegmentId {
  return term.map(([key, value]) => `${key}=${value}`).join(',') as SegmentId;
}

export function toSegments(terms: Iterable<Term>): Segments {
  return new Map([...terms].map((term) => [segmentIdOf(term), term]));
}

/** The term that one node contributes: none without the driver, without the Node object, or without one of the labels. */
export function segmentOf(csiNode: CSINode | undefined, node: Node | undefined, driverName: string): Term | undefined {
  if (csiNode === undefined || node === undefined || driverOn(csiNode, driverName) === undefined) return undefined;
  return termOf(registeredKeys(csiNode, driverName), node);
}

/** In a fixed order. */
export function segmentsOf(cluster: Pick<ClusterTopology, 'csiNodes' | 'node'>, driverName: string): Segments {
  const found = new Map<SegmentId, Term>();
  const seen = new Set<Term>();
  for (const csiNode of cluster.csiNodes()) {
    const term = segmentOf(csiNode, cluster.node(csiNode.metadata?.name ?? ''), driverName);
    // Most nodes share one term object, so that its text is built once.
    if (term === undefined || seen.has(term)) continue;
    seen.add(term);
    found.set(segmentIdOf(term), term);
  }
  return toSegments([...found.values()].sort(compareTerms));
}
