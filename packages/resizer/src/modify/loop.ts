// SPDX-License-Identifier: Apache-2.0
/** The modification loop assembled: what it watches, and what wakes it. */
import {
  type Change,
  type Clock,
  defineLoop,
  type InformerOptions,
  isResync,
  type Loop,
  type PersistentVolumeClaim,
  type VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import { type ClaimKey, claimKey, currentClassOf, isBound, modifyStatusOf, wantedClassOf } from '../claim.ts';
import { claimSubject, endRun } from '../claim-loop.ts';
import { wakeOnForeignChanges } from '../own-writes.ts';
import { newlyBoundClaim, type Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { observe } from './observe.ts';
import { performers } from './perform.ts';
import type { ModifyContext, ModifyLoop } from './state.ts';

export interface ModifyWatched extends Pick<Watched, 'claims' | 'volumes'> {
  readonly classes: InformerOptions<VolumeAttributesClass>;
}

export function modifyLoop(context: ModifyContext, watched: ModifyWatched, clock: Clock): Loop {
  const { driver, settings, turns, ownWrites } = context;
  const foreign = wakeOnForeignChanges(ownWrites, matters);
  return defineLoop<ModifyLoop>({
    name: `${driver.name}-pvc-modify`,
    settings,
    watches: { claims: watched.claims, volumes: watched.volumes, classes: watched.classes },
    subject: claimSubject(context),
    wakes: {
      claims: foreign.onChange,
      // The claim may have come first.
      volumes: newlyBoundClaim,
      // Claims may name a class before it exists.
      classes: ({ current }, { claims }) =>
        current && claims.byIndex('class', current.metadata?.name ?? '').map(claimKey),
    },
    sources: [turns.onFree.modify, foreign.source],
    observe: (caches, key) => observe(context, caches, { key, clock }),
    decide: (state) => decide(state, context),
    perform: performers(context),
    onEnd: (run) => {
      const claim = run.concluded?.state.claim;
      if (claim !== undefined) endHold(context, run.key, claim);
      endRun(context, 'modify', run);
    },
  });
}

/** An infeasible class is held back while the user keeps to it. The user may want another one, or none, and then that class again. */
function endHold({ memory }: ModifyContext, key: ClaimKey, claim: PersistentVolumeClaim): void {
  const uid = claim.metadata?.uid ?? '';
  const isKept = modifyStatusOf(claim)?.targetVolumeAttributesClassName === wantedClassOf(claim);
  if (!isKept && memory.get(key, uid)?.kind === 'infeasible') memory.set(key, { kind: 'settled', uid });
}

/**
 * A claim with something to modify that is new, offered again by a resync, newly bound, or names another class than before. A
 * modification that is recorded continues with its own retries: a resync does not shorten its backoff.
 */
export function matters(change: Change<PersistentVolumeClaim>): boolean {
  const { previous, current } = change;
  if (current === undefined || !isBound(current)) return false;
  if (previous === undefined) return true;
  if (wantedClassOf(previous) !== wantedClassOf(current)) return true;
  const isOpen = modifyStatusOf(current) === undefined && wantedClassOf(current) !== currentClassOf(current);
  return isOpen && (isResync(change) || !isBound(previous) || isNewlyOpen(previous));
}

function isNewlyOpen(previous: PersistentVolumeClaim): boolean {
  return modifyStatusOf(previous) !== undefined || wantedClassOf(previous) === currentClassOf(previous);
}
