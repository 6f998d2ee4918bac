// SPDX-License-Identifier: Apache-2.0
/**
 * A PersistentVolume: our finalizer stays on it while its volume has to be deleted with it, and a released volume is deleted. Rows V1 to
 * V14 of the provisioner's page. Pure; what each step does is in `steps.ts`.
 *
 * Not here: creating volumes (`claim/`), releasing them (the PV controller does).
 */
import {
  type Conclusion as AnyConclusion,
  done,
  type Flow,
  orEnd,
  type Outcome,
  perform,
  type PersistentVolume,
  postpone,
  type RecordedEvent,
  requeueAfter,
  retry,
  toError,
} from '@csi-sidecars/runtime';
import { toCsiNodeAffinity } from '@csi-sidecars/volume';
import { type CapacityChange, changedByDeletion } from '../capacity/change.ts';
import { missingCapability } from '../driver.ts';
import { toDeletionSecret } from './deletion-secret.ts';
import * as messages from './messages.ts';
import * as step from './steps.ts';
import { finalizerChange, hasFinalizer, isOurs, isToBeDeleted, toDriverVolume } from './volume.ts';

export interface Conclusion extends AnyConclusion {
  readonly events: readonly RecordedEvent[];
  readonly counts: 'success' | 'failure' | 'no';
  /** What a deletion says about the capacity of the driver. */
  readonly capacity?: CapacityChange;
}

type FlowContext = Pick<step.VolumeContext, 'driver'>;

export function* lookAfter(seen: step.Observed, context: FlowContext): Flow<Conclusion> {
  const { volume } = seen;
  if (!isOurs(volume, context.driver.name)) return conclude('V1', done);
  if (seen.place === 'elsewhere') return yield* leaveToItsNode(seen);
  const change = finalizerChange(volume);
  if (change === 'none') return yield* deleteReleased(seen, context);
  const row = change === 'add' ? 'V2' : 'V3';
  const isThere = yield* orEnd(perform(row, step.setFinalizer, volume, change), (failure) =>
    conclude('V4', retry(failure)),
  );
  const now = isThere ? yield* perform(row, step.look) : undefined;
  // The finalizer is not looked at again: a webhook that undoes the change would keep the run going for ever.
  return now === undefined ? conclude('V4', done) : yield* deleteReleased(now, context);
}

/**
 * Only the instance of its node deletes a volume, but any one may take the finalizer off, as in upstream: the node may be gone. That instance
 * does it at once, so the others wait, each for a random time.
 */
function* leaveToItsNode({ volume, waitMs }: step.Observed): Flow<Conclusion> {
  if (finalizerChange(volume) !== 'remove') return conclude('V14', done);
  const leftMs = waitMs ?? (yield* perform('V14', step.startWait));
  if (leftMs > 0) return conclude('V14', requeueAfter(leftMs));
  yield* orEnd(perform('V14', step.setFinalizer, volume, 'remove'), (failure) => conclude('V14', retry(failure)));
  return conclude('V14', done);
}

function* deleteReleased(seen: step.Observed, context: FlowContext): Flow<Conclusion> {
  const { driver } = context;
  const { volume } = seen;
  if (!isToBeDeleted(volume)) return conclude('V5', done);
  const known = toDriverVolume(volume, driver.name);
  if (known.kind === 'error') return fail('V6', known.message);
  const missing = missingCapability(driver);
  if (missing !== undefined) return fail('V7', missing);
  const secret = toDeletionSecret(seen, driver.name);
  if (secret.kind === 'error') return fail('V8', secret.message);
  const secrets = secret.value && (yield* perform('V9', step.readSecret, secret.value));
  // While a secret was read, the policy may have become Retain, and a node may have begun to use the volume.
  const now = (yield* perform('V10', step.look)) ?? seen;
  if (now.volume !== volume) return yield* lookAfter(now, context);
  if (now.attachedTo !== undefined) {
    const message = messages.stillAttached(volume.metadata?.name ?? '', now.attachedTo);
    return { ...conclude('V10', postpone(message)), events: [messages.postponed(message)], counts: 'failure' };
  }
  const { csi, migrated } = known.value;
  const request = { volume_id: csi.volumeHandle, ...(secrets && { secrets }) };
  yield* orEnd(perform('V11', step.deleteVolume, request, migrated), (failure) =>
    fail('V11', failure.message, failure),
  );
  // Segments have the driver's topology keys. The affinity of a volume of an in-tree plugin has those of Kubernetes.
  return { ...(yield* removeRecord(volume)), capacity: changedByDeletion(toCsiNodeAffinity(volume)) };
}

/** The volume is gone: next the object is deleted, then the finalizer removed, so that every crash leaves work that the next run finishes. */
function* removeRecord(volume: PersistentVolume): Flow<Conclusion> {
  let row = 'V12';
  try {
    const left = yield* perform(row, step.removeObject, volume);
    if (left !== undefined) {
      row = 'V13';
      if (hasFinalizer(left)) yield* perform(row, step.release, left);
    }
    return { ...conclude(row, done), counts: 'success' };
  } catch (error) {
    return { ...conclude(row, retry(toError(error))), counts: 'failure' };
  }
}

function conclude(row: string, outcome: Outcome): Conclusion {
  return { row, kind: 'conclude', outcome, events: [], counts: 'no' };
}

function fail(row: string, message: string, cause = new Error(message)): Conclusion {
  return { ...conclude(row, retry(cause)), events: [messages.deleteFailed(message)], counts: 'failure' };
}
