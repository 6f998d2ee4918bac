// SPDX-License-Identifier: Apache-2.0
/** The volume table. Pure; first match wins. */
import { done, postpone, type RecordedEvent, requeueAfter, retry } from '@csi-sidecars/runtime';
import { toCsiNodeAffinity } from '@csi-sidecars/volume';
import { changedByDeletion } from '../capacity/change.ts';
import { missingCapability } from '../driver.ts';
import { toDeletionSecret } from './deletion-secret.ts';
import * as messages from './messages.ts';
import type { Action, Conclusion, Row, VolumeContext, VolumeState } from './state.ts';
import { finalizerChange, hasFinalizer, isOurs, isToBeDeleted, toDriverVolume } from './volume.ts';

type DecideContext = Pick<VolumeContext, 'driver'>;

export function decide(s: VolumeState, context: DecideContext): Action {
  const action = decideRow(s, context);
  if (action.kind !== 'conclude') return action;
  // Segments have the driver's topology keys. The affinity of a volume of an in-tree plugin has those of Kubernetes.
  const capacity =
    s.deletion === 'done'
      ? changedByDeletion('done', toCsiNodeAffinity(s.volume))
      : changedByDeletion('failed', undefined);
  return { ...action, capacity };
}

function decideRow(s: VolumeState, { driver }: DecideContext): Action {
  if (s.deletion === 'done') return afterDeletion(s);
  if (!isOurs(s.volume, driver.name)) return finish('V1', 'no');
  if (s.place === 'elsewhere') return decideElsewhere(s);
  if (s.finalizing === 'untried') {
    const change = finalizerChange(s.volume);
    if (change !== 'none') return { row: change === 'add' ? 'V2' : 'V3', kind: 'setFinalizer', change };
  }
  if (s.finalizing === 'gone') return finish('V4', 'no');
  if (typeof s.finalizing === 'object') return tryAgain('V4', s.finalizing.failure, 'no');
  if (!isToBeDeleted(s.volume)) return finish('V5', 'no');
  return towardsDeletion(s, { driver });
}

/**
 * Only the instance of its node deletes a volume, but any one may take the finalizer off, as in upstream: the node may be gone. That instance
 * does it at once, so the others wait, each for a random time.
 */
function decideElsewhere({ volume, finalizing, waitMs }: VolumeState): Action {
  if (typeof finalizing === 'object') return tryAgain('V14', finalizing.failure, 'no');
  if (finalizing !== 'untried' || finalizerChange(volume) !== 'remove') return finish('V14', 'no');
  if (waitMs === undefined) return { row: 'V14', kind: 'startWait' };
  if (waitMs > 0) return { ...finish('V14', 'no'), outcome: requeueAfter(waitMs) };
  return { row: 'V14', kind: 'setFinalizer', change: 'remove' };
}

function towardsDeletion(s: VolumeState, { driver }: DecideContext): Action {
  const volume = toDriverVolume(s.volume, driver.name);
  if (volume.kind === 'error') return refuse('V6', volume.message);
  const missing = missingCapability(driver);
  if (missing !== undefined) return refuse('V7', missing);
  const secret = toDeletionSecret(s, driver.name);
  if (secret.kind === 'error') return refuse('V8', secret.message);
  if (secret.value !== undefined && s.secrets === 'unread') {
    return { row: 'V9', kind: 'readSecret', reference: secret.value };
  }
  if (s.attachedTo !== undefined) {
    const message = messages.stillAttached(s.volume.metadata?.name ?? '', s.attachedTo);
    const event = messages.postponed(message);
    return { row: 'V10', kind: 'conclude', outcome: postpone(message), events: [event], counts: 'failure' };
  }
  if (typeof s.deletion === 'object') {
    return failWith('V11', messages.deleteFailed(s.deletion.failure.message), s.deletion.failure);
  }
  const { csi, migrated } = volume.value;
  const secrets = s.secrets === 'unread' ? undefined : s.secrets.values;
  return { row: 'V11', kind: 'deleteVolume', volumeId: csi.volumeHandle, migrated, secrets };
}

/** The volume is gone: next the object is deleted, then the finalizer removed, so that every crash leaves work that the next run finishes. */
function afterDeletion(s: VolumeState): Action {
  if (s.removal === 'untried') return { row: 'V12', kind: 'removeObject' };
  if (s.removal === 'gone') return finish('V12', 'success');
  if (typeof s.removal === 'object') return tryAgain('V12', s.removal.failure, 'failure');
  if (!hasFinalizer(s.volume) || s.release === 'done') return finish('V13', 'success');
  if (s.release === 'untried') return { row: 'V13', kind: 'release' };
  return tryAgain('V13', s.release.failure, 'failure');
}

function finish(row: Row, counts: Conclusion['counts']): Conclusion {
  return { row, kind: 'conclude', outcome: done, events: [], counts };
}

function tryAgain(row: Row, cause: Error, counts: Conclusion['counts']): Conclusion {
  return { row, kind: 'conclude', outcome: retry(cause), events: [], counts };
}

function refuse(row: Row, message: string): Conclusion {
  return failWith(row, messages.deleteFailed(message), new Error(message));
}

function failWith(row: Row, event: RecordedEvent, cause: Error): Conclusion {
  return { row, kind: 'conclude', outcome: retry(cause), events: [event], counts: 'failure' };
}
