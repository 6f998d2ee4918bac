// SPDX-License-Identifier: Apache-2.0
/** The segment table. Pure; first match wins. */
import { done } from '@csi-sidecars/runtime';
import type { SegmentId, Segments } from '../topology/segments.ts';
import type { Action, SegmentState } from './state.ts';

export function decide({ known, found, isPublished }: SegmentState): Action {
  if (isPublished) return { row: 'G2', kind: 'conclude', outcome: done };
  if (known === undefined) return { row: 'G2', kind: 'publish', segments: found, changed: 'all' };
  const changed = differing(known, found);
  if (changed.size === 0) return { row: 'G1', kind: 'conclude', outcome: done };
  return { row: 'G2', kind: 'publish', segments: found, changed };
}

/** Those of one side only. */
function differing(known: Segments, found: Segments): ReadonlySet<SegmentId> {
  const removed = [...known.keys()].filter((id) => !found.has(id));
  const added = [...found.keys()].filter((id) => !known.has(id));
  return new Set([...removed, ...added]);
}
