// SPDX-License-Identifier: Apache-2.0
/** Rows R1 to R4 for one attachment. Pure; the first matching row wins. */
import { isAttached } from '../attachment.ts';
import type { Action, Comparison, Published } from './state.ts';

export function decide({ attachment, wasCalled, names }: Comparison, published: Published): Action {
  if (wasCalled) return { row: 'R1', kind: 'leave' };
  if (names.kind === 'error') return { row: 'R2', kind: 'skip', reason: names.message };
  const { volumeHandle, nodeId } = names.value;
  const isPublished = published.get(volumeHandle)?.has(nodeId) === true;
  if (isAttached(attachment) === isPublished) return { row: 'R3', kind: 'unforce' };
  return { row: 'R4', kind: 'force', names: names.value, isPublished };
}
