// SPDX-License-Identifier: Apache-2.0
/**
 * One item: one CSIStorageCapacity object with what the driver reports for it, and no other managed objects. Rows K1 to K10 of the page on
 * topology and capacity. Pure; what each step does is in `steps.ts`.
 *
 * Which items exist, and which objects belong to them, follows from the caches alone. Nothing is lost with the process.
 *
 * Not here: the segments of the cluster (`segments/`), the poll (`poll.ts`), what a volume says about capacity (`change.ts`).
 */
import type { RequestOf } from '@csi-sidecars/csi';
import {
  conclude,
  type Conclusion,
  type CSIStorageCapacity,
  done,
  type Flow,
  orEnd,
  perform,
  retry,
  type StorageClass,
  toError,
} from '@csi-sidecars/runtime';
import type { Term } from '../topology/terms.ts';
import { changedObject, isBeingDeleted, type Management, toObject } from './object.ts';
import * as step from './steps.ts';

export function* publish(seen: step.Observed, management: Management): Flow<Conclusion> {
  if (!seen.knowsSegments) return conclude('K1', done);
  const { className, segment, storageClass } = seen;
  if (segment === undefined || storageClass === undefined) {
    yield* orEnd(remove('K2', seen.objects), (failure) => conclude('K3', retry(failure)));
    return conclude('K3', done);
  }
  let remains: Error | undefined;
  try {
    yield* remove('K4', seen.objects.slice(1));
  } catch (error) {
    // The other object is still brought up to date.
    remains = toError(error);
  }
  const request = requestFor(segment, storageClass);
  const reported = yield* orEnd(perform('K5', step.ask, request), (failure) => conclude('K6', retry(failure)));
  // The item may have become superfluous while the driver was asked.
  const now = yield* perform('K5', step.look);
  if (now.segment === undefined || now.storageClass === undefined) return yield* publish(now, management);
  const [kept] = now.objects;
  if (kept === undefined) {
    yield* write('K7', step.create, toObject({ className, segment, reported }, management));
  } else {
    const changed = changedObject(kept, reported, management.owner);
    if (changed !== undefined) yield* write('K9', step.update, changed);
  }
  return remains === undefined ? conclude('K8', done) : conclude('K10', retry(remains));
}

/** Objects that are being deleted already are left to whatever holds them. */
function* remove(row: 'K2' | 'K4', objects: readonly CSIStorageCapacity[]): Flow<void> {
  const staying = objects.filter((object) => !isBeingDeleted(object));
  if (staying.length > 0) yield* perform(row, step.remove, staying);
}

function* write(row: 'K7' | 'K9', how: typeof step.create, object: CSIStorageCapacity): Flow<void> {
  yield* orEnd(perform(row, how, object), (failure) => conclude('K10', retry(failure)));
}

function requestFor(segment: Term, { parameters = {} }: StorageClass): RequestOf<'/csi.v1.Controller/GetCapacity'> {
  // Present even if it is empty.
  return { parameters, accessible_topology: { segments: Object.fromEntries(segment) } };
}
