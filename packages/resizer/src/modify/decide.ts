// SPDX-License-Identifier: Apache-2.0
/** Rows M1 to M16: up to the call. Pure; first match wins. The rows of the answer are in `decide-answer.ts`. */
import {
  done,
  dropped,
  isFailed,
  type PersistentVolume,
  requeueAfter,
  retry,
  type VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import { type Claim, conditionsOf, currentClassOf, isBound, modifyStatusOf, wantedClassOf } from '../claim.ts';
import type { ResizerSettings } from '../settings.ts';
import { isBoundTo } from '../volume.ts';
import { conclude, failSilently } from './conclude.ts';
import { decideAnswer } from './decide-answer.ts';
import * as messages from './messages.ts';
import { toModifyRequest } from './request.ts';
import type { Action, ModifyState } from './state.ts';

export interface DecideContext {
  readonly driver: { readonly name: string };
  readonly settings: Pick<ResizerSettings, 'extraModifyMetadata'>;
}

/** The claim and its PersistentVolume, both there and ours. */
export interface Pair {
  readonly claim: Claim;
  readonly volume: PersistentVolume;
}

/** The claim has just been read again: one write of somebody else is not worth a backoff. */
const afterConflictMs = 50;

export function decide(s: ModifyState, context: DecideContext): Action {
  const { claim, volume } = s;
  if (claim === undefined) return conclude('M1', done);
  if (volume?.spec?.csi?.driver !== context.driver.name) return conclude('M2', done);
  if (!isBound(claim) || !isBoundTo(volume, claim)) return conclude('M3', done);
  const pair = { claim, volume };
  if (s.modifiesTo !== undefined) return decideCall(s, { ...pair, target: s.modifiesTo }, context);
  return decideTarget(s, pair, context);
}

function decideTarget(s: ModifyState, pair: Pair, context: DecideContext): Action {
  const { claim } = pair;
  const wanted = wantedClassOf(claim);
  const recorded = modifyStatusOf(claim);
  const target = recorded?.targetVolumeAttributesClassName ?? '';
  // A refusal that the claim does not show yet has to be shown first: the class is asked for again, which records the answer.
  if (recorded?.status === 'Infeasible' && wanted !== '' && target === wanted && s.infeasibleForMs > 0) {
    return conclude('M4', requeueAfter(s.infeasibleForMs));
  }
  if (recorded === undefined && wanted === currentClassOf(claim)) return conclude('M5', done);
  const isInProgress = recorded?.status === 'InProgress';
  if (wanted === '' && !isInProgress) return cancel(s, claim);
  if (isInProgress && (s.entry === undefined || wanted === '')) return resume(s, pair, context);
  return begin(s, pair, context);
}

/** The user does not care any more, and no call is open: what the volume has stays. */
function cancel({ cancelled }: ModifyState, claim: Claim): Action {
  if (cancelled === 'done') return conclude('M6', done, messages.cancelled);
  if (isFailed(cancelled)) return conclude('M6', retry(cancelled.failure));
  const isModifying = conditionsOf(claim).some(({ type }) => type === 'ModifyingVolume');
  return isModifying ? { row: 'M6', kind: 'cancel', claim } : conclude('M6', done);
}

/** The recorded modification may be under way in the driver, so its class must not change. */
function resume(s: ModifyState, { claim, volume }: Pair, context: DecideContext): Action {
  const { targetClass } = s;
  const name = modifyStatusOf(claim)?.targetVolumeAttributesClassName ?? '';
  if (targetClass === undefined) {
    return conclude('M7', retry(new Error(messages.classMissing(name).message)), messages.classMissing(name));
  }
  const waits = mayModify(s, volume, { ...context, target: targetClass });
  if (waits !== undefined) return waits;
  if (isFailed(s.confirmed)) return failSilently('M8', s.confirmed.failure);
  if (s.confirmed === 'untried') return { row: 'M8', kind: 'confirm', claim };
  return { row: 'M8', kind: 'resume', target: targetClass };
}

function begin(s: ModifyState, { claim, volume }: Pair, context: DecideContext): Action {
  const { wantedClass } = s;
  if (wantedClass === undefined) return pending(s, claim);
  const waits = mayModify(s, volume, { ...context, target: wantedClass });
  if (waits !== undefined) return waits;
  if (s.marked === 'conflict') return conclude('M12', requeueAfter(afterConflictMs));
  if (isFailed(s.marked)) return conclude('M12', retry(s.marked.failure));
  return { row: 'M12', kind: 'mark', claim, target: wantedClass };
}

/** Done: the class wakes the claim when it comes. */
function pending({ pendingSaved }: ModifyState, claim: Claim): Action {
  const event = messages.classMissing(wantedClassOf(claim));
  if (pendingSaved === 'conflict') return conclude('M9', requeueAfter(afterConflictMs));
  if (isFailed(pendingSaved)) return conclude('M9', retry(pendingSaved.failure), event);
  const isRecorded = pendingSaved === 'done' || modifyStatusOf(claim)?.status === 'Pending';
  return isRecorded ? conclude('M9', done, event) : { row: 'M9', kind: 'savePending', claim };
}

/** Undefined: nothing stands against the call. */
function mayModify(
  { turn }: ModifyState,
  { metadata, spec }: PersistentVolume,
  { driver, target }: DecideContext & { readonly target: VolumeAttributesClass },
): Action | undefined {
  if (target.driverName !== driver.name) {
    const event = messages.classForeign(target.metadata?.name ?? '', target.driverName, driver.name);
    return conclude('M10', retry(new Error(event.message)), event);
  }
  const volumeHandle = spec?.csi?.volumeHandle ?? metadata?.name ?? '';
  if (turn === 'unasked') return { row: 'M11', kind: 'takeTurn', volumeHandle };
  return turn === 'busy' ? conclude('M11', dropped) : undefined;
}

function decideCall(
  s: ModifyState,
  facts: Pair & { readonly target: VolumeAttributesClass },
  context: DecideContext,
): Action {
  if (s.modified !== 'untried') return decideAnswer(s, facts);
  const { claim, target } = facts;
  if (s.marked === 'done' && !s.isAnnounced) return { row: 'M13', kind: 'announce', claim, target };
  const planned = toModifyRequest(facts, context.settings);
  if (planned.kind === 'error') return failSilently('M14', new Error(planned.message));
  const { request, reference } = planned.value;
  if (isFailed(s.secrets)) return failSilently('M15', s.secrets.failure);
  if (reference !== undefined && s.secrets === 'unasked') return { row: 'M15', kind: 'readSecret', reference };
  const secrets = s.secrets === 'unasked' ? {} : { secrets: s.secrets.value };
  return { row: 'M16', kind: 'modify', claim, request: { ...request, ...secrets } };
}
