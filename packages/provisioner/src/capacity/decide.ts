// SPDX-License-Identifier: Apache-2.0
/** The capacity table. Pure; first match wins. */
import { type CSIStorageCapacity, done, isFailed, retry, type StorageClass } from '@csi-sidecars/runtime';
import type { Term } from '../topology/terms.ts';
import { changedObject, isBeingDeleted, type Reported, toObject } from './object.ts';
import type { Action, CapacityContext, CapacityState, Row } from './state.ts';

export function decide(s: CapacityState, context: CapacityContext): Action {
  if (!s.knowsSegments) return { row: 'K1', kind: 'conclude', outcome: done };
  const { segment, storageClass } = s;
  if (segment === undefined || storageClass === undefined) {
    return removal('K2', s, s.objects) ?? conclude('K3', s);
  }
  const [kept, ...others] = s.objects;
  return removal('K4', s, others) ?? publish(s, context, { segment, storageClass, kept });
}

/** Objects that are being deleted already are left to whatever holds them. */
function removal(row: Row, s: CapacityState, objects: readonly CSIStorageCapacity[]): Action | undefined {
  const staying = objects.filter((object) => !isBeingDeleted(object));
  if (staying.length === 0 || s.removed !== 'untried') return undefined;
  return { row, kind: 'remove', objects: staying };
}

interface Wanted {
  readonly segment: Term;
  readonly storageClass: StorageClass;
  readonly kept: CSIStorageCapacity | undefined;
}

function publish(s: CapacityState, context: CapacityContext, wanted: Wanted): Action {
  const { reported, written } = s;
  if (reported === 'unasked') return { row: 'K5', kind: 'ask', request: requestFor(wanted) };
  if (isFailed(reported)) return { row: 'K6', kind: 'conclude', outcome: retry(reported.failure) };
  if (written === 'untried') {
    return write(s, context, { ...wanted, reported: reported.value }) ?? conclude('K8', s);
  }
  if (isFailed(written)) return { row: 'K10', kind: 'conclude', outcome: retry(written.failure) };
  return conclude('K8', s);
}

/** Everything that is to be written is written. */
function conclude(row: Row, { removed }: CapacityState): Action {
  if (!isFailed(removed)) return { row, kind: 'conclude', outcome: done };
  return { row: row === 'K8' ? 'K10' : row, kind: 'conclude', outcome: retry(removed.failure) };
}

/** Undefined if the object is as it should be. */
function write(
  { className }: CapacityState,
  { management }: CapacityContext,
  { segment, kept, reported }: Wanted & { readonly reported: Reported },
): Action | undefined {
  if (kept === undefined) {
    return { row: 'K7', kind: 'create', object: toObject({ className, segment, reported }, management) };
  }
  const changed = changedObject(kept, reported, management.owner);
  return changed && { row: 'K9', kind: 'update', object: changed };
}

function requestFor({ segment, storageClass }: Wanted): Extract<Action, { kind: 'ask' }>['request'] {
  return {
    parameters: storageClass.parameters ?? {},
    // Present even if it is empty.
    accessible_topology: { segments: Object.fromEntries(segment) },
  };
}
