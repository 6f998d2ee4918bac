// SPDX-License-Identifier: Apache-2.0
/** Rows R1 to R4, for one attachment. Pure; first match wins. */
import { isAttached } from '../attachment-facts.ts';
import type { Action, Comparison, Published } from './state.ts';

export function decide({ attachment, wasCalled, place }: Comparison, published: Published): Action {
  if (wasCalled) return { kind: 'leave' }; // R1
  if (place.kind === 'error') return { kind: 'skip', reason: place.message }; // R2
  const { volumeHandle, nodeId } = place.value;
  const isPublished = published.get(volumeHandle)?.has(nodeId) === true;
  if (isAttached(attachment) === isPublished) return { kind: 'unforce' }; // R3
  return { kind: 'force', place: place.value, published: isPublished }; // R4
}
