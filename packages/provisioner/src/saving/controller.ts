// SPDX-License-Identifier: Apache-2.0
/**
 * The save loop: PersistentVolumes of volumes that exist and whose first save failed. Tried until the API server gives a
 * verdict; the volume is never deleted because it could not be recorded. What cannot be saved as it is goes back to the
 * claim loop, which asks the driver again.
 *
 * Not here: the first save (the claim loop does it and judges it by the same rows).
 */
import { done, type EventRecorder, type Logger, type Reconcile, retry } from '@csi-sidecars/runtime';
import { type ClaimUid, uidOf } from '../claim/claim.ts';
import * as messages from '../claim/messages.ts';
import { isProtected } from '../claim/protection.ts';
import type { Entry, UnsettledClaims } from '../claim/unsettled.ts';
import { type SaveDeps, saveVolume } from './save.ts';

export interface SaveLoopDeps extends SaveDeps {
  readonly unsettled: UnsettledClaims;
  readonly events: EventRecorder;
  readonly logger: Logger;
  readonly driverName: string;
  /** Lets the claim loop look at the claim: to take the finalizer off, or to begin again. */
  readonly enqueueClaim: (uid: ClaimUid, when: 'now' | 'rateLimited') => void;
}

/** The PersistentVolume's name. */
export type UnsavedKey = string;

export function createSaveReconcile(deps: SaveLoopDeps): Reconcile<UnsavedKey> {
  return async (volumeName) => {
    const entry = deps.unsettled.savingByName(volumeName);
    if (entry === undefined) return done;
    const saved = await saveVolume(deps, entry.volume);
    switch (saved.kind) {
      case 'later':
        return retry(saved.cause); // S8
      case 'saved':
        if (saved.claim === 'there') deps.events.record(latest(deps, entry), messages.succeeded(volumeName)); // S1, S3
        settle(deps, entry);
        return done;
      case 'taken':
        deps.events.record(latest(deps, entry), messages.failed(saved.message)); // S4
        settle(deps, entry);
        return done;
      case 'refused':
        deps.events.record(latest(deps, entry), messages.failed(saved.message)); // S5, S7
        const { volume: _refused, ...pinned } = entry;
        deps.unsettled.set({ ...pinned, kind: 'pinned' });
        deps.enqueueClaim(uidOf(entry.claim), 'rateLimited');
        return done;
    }
  };
}

type Saving = Extract<Entry, { kind: 'saving' }>;

function latest({ claims }: SaveLoopDeps, { claim }: Saving): Saving['claim'] {
  return claims.lister.byIndex('uid', uidOf(claim))[0] ?? claim;
}

/** The claim loop takes the finalizer off, and provisions anew where the volume turned out to be another claim's. */
function settle(deps: SaveLoopDeps, entry: Saving): void {
  const claim = latest(deps, entry);
  if (isProtected(claim, deps.driverName)) deps.unsettled.set({ kind: 'settled', claim });
  else deps.unsettled.delete(uidOf(claim));
  deps.enqueueClaim(uidOf(claim), 'now');
}
