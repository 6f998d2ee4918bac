// SPDX-License-Identifier: Apache-2.0
/** The save loop assembled: one run, and what a run leaves behind. The claim loop wakes it when a first save fails. */
import {
  type Clock,
  done,
  type EventRecorder,
  type Outcome,
  type Reconcile,
  runDecisions,
} from '@csi-sidecars/runtime';
import { type ClaimUid, uidOf } from '../claim/claim.ts';
import { deletionOf } from '../claim/deletion.ts';
import type { ClaimMemory } from '../claim/memory.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import { type SaveDeps, saveVolume } from './perform.ts';
import type { Action, Conclusion, SaveState, UnsavedKey } from './state.ts';

export interface SaveLoopDeps extends SaveDeps {
  readonly memory: ClaimMemory;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly driverName: string;
  /** Lets the claim loop look at the claim: to take the finalizer off, or to ask the driver again. */
  readonly enqueueClaim: (uid: ClaimUid, when: 'now' | 'rateLimited') => void;
}

export function createSaveReconcile(deps: SaveLoopDeps): Reconcile<UnsavedKey> {
  const { memory, driverName } = deps;
  const caches = { memory, claims: deps.claims.lister, driverName };
  return async (volumeName) => {
    const observed = observe(caches, volumeName);
    if (observed === undefined) return done;
    const { state, conclusion } = await runDecisions<SaveState, Action>(observed, {
      subject: `PersistentVolume ${volumeName}`,
      decide,
      perform: async (_action, known) => ({ ...known, saved: await saveVolume(deps, known.saving.volume) }),
    });
    return conclude(deps, state, conclusion);
  };
}

function conclude(
  deps: SaveLoopDeps,
  { saving, claim, isProtected }: SaveState,
  { outcome, events, claimIs }: Conclusion,
): Outcome {
  const { memory, clock } = deps;
  for (const event of events) deps.events.record(claim, event);
  switch (claimIs) {
    case 'saving': {
      // Counts for a deleted claim as a call would: it is not kept for ever because the API server refuses its volume.
      const isDeleted = claim.metadata?.deletionTimestamp !== undefined;
      // What the claim loop may have noted during the save counts.
      const current = memory.savingByName(saving.pinned.plan.volumeName) ?? saving;
      if (isDeleted) memory.answered(claim, deletionOf(clock, claim, current.deletion), 'open');
      break;
    }
    case 'settled':
      if (isProtected) memory.set({ kind: 'settled', claim, refusal: undefined });
      else memory.delete(uidOf(claim));
      deps.enqueueClaim(uidOf(claim), 'now');
      break;
    case 'again': {
      const { volume: _refused, ...others } = saving;
      memory.set({ ...others, kind: 'pinned' });
      deps.enqueueClaim(uidOf(claim), 'rateLimited');
    }
  }
  return outcome;
}
