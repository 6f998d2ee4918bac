// SPDX-License-Identifier: Apache-2.0
/** Rows V1 to V13. Pure; first match wins. */
import { done, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import { inTreePluginOf } from '@csi-sidecars/volume';
import { missingCapability } from '../driver.ts';
import { toDeletionSecret } from './deletion-secret.ts';
import * as messages from './messages.ts';
import type { Action, Conclusion, VolumeContext, VolumeState } from './state.ts';
import { finalizerChange, hasFinalizer, isOurs, isToBeDeleted } from './volume.ts';

export function decide(s: VolumeState, { driver }: VolumeContext): Action {
  if (s.deletion === 'done') return afterDeletion(s);
  if (!isOurs(s.volume, driver.name)) return finish('no'); // V1
  if (s.finalizing === 'untried') {
    const change = finalizerChange(s.volume);
    if (change !== 'none') return { kind: 'setFinalizer', change }; // V2, V3
  }
  if (s.finalizing === 'gone') return finish('no'); // V4
  if (typeof s.finalizing === 'object') return tryAgain(s.finalizing.failure, 'no'); // V4
  if (!isToBeDeleted(s.volume)) return finish('no'); // V5
  return towardsDeletion(s, { driver });
}

function towardsDeletion(s: VolumeState, { driver }: VolumeContext): Action {
  if (s.volume.spec?.csi === undefined) {
    const plugin = inTreePluginOf(driver.name);
    return refuse(plugin === undefined ? messages.notCsi : messages.migrated(plugin)); // V6
  }
  const missing = missingCapability(driver);
  if (missing !== undefined) return refuse(missing); // V7
  const secret = toDeletionSecret(s.volume, s.storageClass);
  if (secret.kind === 'error') return refuse(secret.message); // V8
  if (secret.value !== undefined && s.secrets === 'unread') return { kind: 'readSecret', reference: secret.value }; // V9
  if (s.attachedTo !== undefined) {
    const message = messages.stillAttached(s.volume.metadata?.name ?? '', s.attachedTo);
    return failWith(messages.postponed(message), new Error(message)); // V10
  }
  if (typeof s.deletion === 'object') {
    return failWith(messages.deleteFailed(s.deletion.failure.message), s.deletion.failure); // V11
  }
  return { kind: 'deleteVolume', secrets: s.secrets === 'unread' ? undefined : s.secrets.values }; // V11
}

/** The volume is gone: the object next, then the finalizer, so that no crash leaves a record of nothing unfinished. */
function afterDeletion(s: VolumeState): Action {
  if (s.removal === 'untried') return { kind: 'removeObject' }; // V12
  if (s.removal === 'gone') return finish('success'); // V12
  if (typeof s.removal === 'object') return tryAgain(s.removal.failure, 'failure'); // V12
  if (!hasFinalizer(s.volume) || s.release === 'done') return finish('success'); // V13
  if (s.release === 'untried') return { kind: 'release' }; // V13
  return tryAgain(s.release.failure, 'failure'); // V13
}

function finish(counts: Conclusion['counts']): Conclusion {
  return { kind: 'conclude', outcome: done, events: [], counts };
}

function tryAgain(cause: Error, counts: Conclusion['counts']): Conclusion {
  return { kind: 'conclude', outcome: retry(cause), events: [], counts };
}

function refuse(message: string): Conclusion {
  return failWith(messages.deleteFailed(message), new Error(message));
}

function failWith(event: RecordedEvent, cause: Error): Conclusion {
  return { kind: 'conclude', outcome: retry(cause), events: [event], counts: 'failure' };
}
