// SPDX-License-Identifier: Apache-2.0
/** Rows M1 to M16: up to the call. Pure; first match wins. The rows of the answer are in `decide-answer.ts`. */
import {
  done,
  dropped,
  isFailed,
  type PersistentVolume,
  type RecordedEvent,
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
  // Somebody has begun a modification since this run began, and the class of that one is not known yet.
  if (s.cancelled === 'done') return conclude('M6', requeueAfter(afterConflictMs));
  if (isInProgress && (s.entry === undefined || wanted === '')) return resume(s, pair);
  return begin(s, pair, context);
}

/** The user does not care any more, and no call is open: what the volume has stays. */
function cancel({ cancelled }: ModifyState, claim: Claim): Action {
  if (cancelled === 'done') return conclude('M6', done, messages.cancelled);
  if (isFailed(cancelled)) return conclude('M6', retry(cancelled.failure));
  const isModifying = conditionsOf(claim).some(({ type }) => type === 'ModifyingVolume');
  return isModifying ? { row: 'M6', kind: 'cancel', claim } : conclude('M6', done);
}

/**
 * The recorded modification may be under way in the driver, so its class must not change. That holds for a class of another driver as
 * well: upstream asks the driver for those, and a process of ours may follow one of upstream.
 */
function resume(s: ModifyState, { claim, volume }: Pair): Action {
  const { targetClass } = s;
  const name = modifyStatusOf(claim)?.targetVolumeAttributesClassName ?? '';
  if (targetClass === undefined) {
    return conclude('M7', retry(new Error(messages.classMissing(name).message)), messages.classMissing(name));
  }
  const waits = waitForTurn(s, volume);
  if (waits !== undefined) return waits;
  return { row: 'M8', kind: 'resume', target: targetClass };
}

function begin(s: ModifyState, { claim, volume }: Pair, { driver }: DecideContext): Action {
  const { wantedClass } = s;
  if (wantedClass === undefined) return pending(s, claim);
  if (wantedClass.driverName !== driver.name) return foreign(s, { claim, target: wantedClass }, driver.name);
  const waits = waitForTurn(s, volume);
  if (waits !== undefined) return waits;
  if (s.marked === 'conflict') return conclude('M12', requeueAfter(afterConflictMs));
  if (isFailed(s.marked)) return conclude('M12', retry(s.marked.failure));
  return { row: 'M12', kind: 'mark', claim, target: wantedClass };
}

function pending(s: ModifyState, claim: Claim): Action {
  const save: Action = { row: 'M9', kind: 'savePending', claim };
  const isShown = modifyStatusOf(claim)?.status === 'Pending';
  return withoutCall(s, { save, isShown, event: messages.classMissing(wantedClassOf(claim)) });
}

/** The driver would refuse the parameters of another one, or take them for its own. */
function foreign(
  s: ModifyState,
  { claim, target }: { readonly claim: Claim; readonly target: VolumeAttributesClass },
  driverName: string,
): Action {
  const name = target.metadata?.name ?? '';
  const text = messages.classForeign(name, target.driverName, driverName);
  const { status, targetVolumeAttributesClassName } = modifyStatusOf(claim) ?? {};
  const isShown =
    status === 'Infeasible' &&
    targetVolumeAttributesClassName === name &&
    conditionsOf(claim).some(({ type, message }) => type === 'ModifyVolumeError' && message === text);
  const save: Action = { row: 'M10', kind: 'saveForeign', claim, target };
  return withoutCall(s, { save, isShown, event: messages.failed(text) });
}

interface NoCall {
  readonly save: Action;
  readonly isShown: boolean;
  readonly event: RecordedEvent;
}

/** Done once the claim shows it: the class wakes the claim when it comes or changes. */
function withoutCall({ noCallSaved }: ModifyState, { save, isShown, event }: NoCall): Action {
  const { row } = save;
  if (noCallSaved === 'conflict') return conclude(row, requeueAfter(afterConflictMs));
  if (isFailed(noCallSaved)) return conclude(row, retry(noCallSaved.failure), event);
  return noCallSaved === 'done' || isShown ? conclude(row, done, event) : save;
}

/** Undefined: this run has the turn of the volume. */
function waitForTurn({ turn }: ModifyState, { metadata, spec }: PersistentVolume): Action | undefined {
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
