// SPDX-License-Identifier: Apache-2.0
/** The save loop: one run, and its effects at the end. The claim loop wakes it when a first save fails. */
import { type Clock, defaultControllerLimiter, defineLoop, type Loop } from '@csi-sidecars/runtime';
import { uidOf } from '../claim/claim.ts';
import { deletionOf } from '../claim/deletion.ts';
import type { ClaimDeps } from '../claim/state.ts';
import type { Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import { saveVolume } from './perform.ts';
import type { Conclusion, SaveLoop, SaveState } from './state.ts';

/** As upstream. */
const saveWorkers = 4;

export function saveLoop(deps: ClaimDeps, { claims, volumes }: Watched, clock: Clock): Loop {
  const { memory, settings, driver, saves } = deps;
  return defineLoop<SaveLoop>({
    name: 'unsavedpvs',
    settings,
    watches: { claims, volumes },
    wakes: {},
    sources: [saves.source],
    observe: (caches, volumeName) => observe({ memory, claims: caches.claims, driver, settings }, volumeName),
    decide,
    perform: {
      save: async ({ client, caches, state }) => ({
        saved: await saveVolume({ client, ...caches }, state.saving.volume),
      }),
    },
    onConclude: (run) => conclude(deps, clock, run),
    workers: saveWorkers,
    limiter: () => defaultControllerLimiter(clock),
    retryMessage: 'Retrying saving volume',
    describe: (_caches, volumeName) => ({ PV: volumeName }),
    // Memory ends with the process, so every unsaved PersistentVolume gets one more attempt.
    lastRuns: () => memory.savingNames(),
  });
}

function conclude(
  { memory, events, claims }: ClaimDeps,
  clock: Clock,
  { state, conclusion }: { readonly state: SaveState; readonly conclusion: Conclusion },
): void {
  const { saving, claim, isProtected } = state;
  for (const event of conclusion.events) events.record(claim, event);
  switch (conclusion.claimIs) {
    case 'saving': {
      // Counts as an answer for a deleted claim, so that it is not kept for ever if the API server refuses its PersistentVolume.
      const isDeleted = claim.metadata?.deletionTimestamp !== undefined;
      // An entry that the claim loop has changed during the save takes precedence.
      const current = memory.savingByName(saving.pinned.plan.volumeName) ?? saving;
      if (isDeleted) memory.answered(claim, deletionOf(clock, claim, current.deletion), 'open');
      break;
    }
    case 'settled':
      if (isProtected) memory.set({ kind: 'settled', claim, refusal: undefined });
      else memory.delete(uidOf(claim));
      claims.wake(uidOf(claim));
      break;
    case 'again': {
      const { volume: _refused, ...others } = saving;
      memory.set({ ...others, kind: 'pinned' });
      claims.wake(uidOf(claim), 'rateLimited');
    }
  }
}
