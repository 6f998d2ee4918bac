// SPDX-License-Identifier: Apache-2.0
/** Texts of log lines about sources, in upstream's words where upstream has them. */
import type { SourceRef } from '../source.ts';
import type { Need } from './need.ts';
import { finalizerOf } from './source-kinds.ts';

/** N1, N8 */
export function inUse({ kind, namespace, name }: SourceRef, need: Need): string {
  if (need.kind === 'none') return `a volume is being made from ${kind} ${namespace}/${name}`;
  if (kind === 'claim') return `PVC '${need.claim}' is in 'Pending' state, cloning in progress`;
  return `PVC '${need.claim}' is in 'Pending' state, restore of snapshot ${namespace}/${name} in progress`;
}

/** N9 */
export const released = (source: SourceRef): string =>
  `Removed finalizer ${finalizerOf(source)} from ${source.kind} ${source.namespace}/${source.name}`;

/** N9, for a finalizer that this process did not put on. */
export const releasedOrphan = ({ namespace, name }: SourceRef): string =>
  `SnapshotFinalizerProtection: removed orphaned finalizer from snapshot ${namespace}/${name}`;

/** N11 */
export const mayNotRelease = (source: SourceRef, reason: string): string =>
  `Unable to remove finalizer from ${source.kind} ${source.namespace}/${source.name} due to missing RBAC permissions: ${reason}`;
