// SPDX-License-Identifier: Apache-2.0
/**
 * The modification, from top to bottom: from a claim that names another VolumeAttributesClass than its volume has to
 * ControllerModifyVolume, and the class on PersistentVolume and claim. Rows M1 to M22 of the resizer's page. Pure; what each step does is
 * in `steps.ts`.
 *
 * Intent is persisted before the call (`modifyVolumeStatus`). A call whose outcome is open is repeated with its own class, whatever
 * the user wants meanwhile.
 *
 * Not here: sizes (`expand/`), in-tree volumes, which have no attributes.
 */
import {
  done,
  dropped,
  type Flow,
  orEnd,
  perform,
  type RecordedEvent,
  requeueAfter,
  retry,
  toError,
  type VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import { outcomeOfModification } from '../call-outcome.ts';
import { type Claim, conditionsOf, isBound, modifyStatusOf, needsModification, wantedClassOf } from '../claim.ts';
import type { ObservedByBoth } from '../claim-loop.ts';
import {
  afterConflictMs,
  announce,
  type ClaimContext,
  conclude,
  type Conclusion,
  type Pair,
  readCallSecret,
  lockVolume,
} from '../steps.ts';
import { isBoundTo } from '../volume.ts';
import * as messages from './messages.ts';
import { toModifyRequest } from './request.ts';
import * as step from './steps.ts';

export interface Observed extends ObservedByBoth {
  /** The class that the user wants; undefined: it does not exist, or the user wants none. */
  readonly wantedClass: VolumeAttributesClass | undefined;
  /** The class of the modification that is recorded as begun. */
  readonly targetClass: VolumeAttributesClass | undefined;
}

export interface FlowContext extends Pick<ClaimContext, 'driver'> {
  readonly settings: Pick<ClaimContext['settings'], 'extraModifyMetadata'>;
}

interface Targeted extends Pair {
  readonly target: VolumeAttributesClass;
}

export function* modify(seen: Observed, context: FlowContext): Flow<Conclusion> {
  const { claim, volume, wantedClass, targetClass } = seen;
  if (claim === undefined) return conclude('M1', done);
  if (volume?.spec?.csi?.driver !== context.driver.name) return conclude('M2', done);
  if (!isBound(claim) || !isBoundTo(volume, claim)) return conclude('M3', done);
  const pair = { claim, volume };
  const wanted = wantedClassOf(claim);
  const { status, targetVolumeAttributesClassName: recorded } = modifyStatusOf(claim) ?? {};
  // A refusal that the claim does not show yet has to be shown first: the class is asked for again, which records the answer.
  if (status === 'Infeasible' && recorded === wanted && seen.infeasibleForMs > 0) {
    return conclude('M4', requeueAfter(seen.infeasibleForMs));
  }
  if (!needsModification(claim)) return conclude('M5', done);
  if (wanted === '' && status !== 'InProgress') return yield* cancel(claim);
  if (status === 'InProgress' && (seen.entry === undefined || wanted === '')) {
    return yield* resume(pair, targetClass, context);
  }
  if (wantedClass === undefined) return yield* withoutClass(claim);
  if (wantedClass.driverName !== context.driver.name) return yield* withForeignClass(claim, wantedClass, context);
  return yield* begin({ ...pair, target: wantedClass }, context);
}

/** The user does not care any more, and no call is open: what the volume has stays. */
function* cancel(claim: Claim): Flow<Conclusion> {
  if (!conditionsOf(claim).some(({ type }) => type === 'ModifyingVolume')) return conclude('M6', done);
  const now = yield* orEnd(perform('M6', step.cancel, claim), (failure) => conclude('M6', retry(failure)));
  // Somebody has begun a modification since, or wants one by now.
  if (modifyStatusOf(now)?.status === 'InProgress' || wantedClassOf(now) !== '') {
    return conclude('M6', requeueAfter(afterConflictMs));
  }
  return conclude('M6', done, messages.cancelled);
}

/**
 * The recorded modification may be under way in the driver, so its class must not change. That holds for a class of another driver as
 * well: upstream asks the driver for those, and a process of ours may follow one of upstream.
 */
function* resume(pair: Pair, target: VolumeAttributesClass | undefined, context: FlowContext): Flow<Conclusion> {
  if (target === undefined) {
    const missing = messages.classMissing(modifyStatusOf(pair.claim)?.targetVolumeAttributesClassName ?? '');
    return conclude('M7', retry(new Error(missing.message)), missing);
  }
  if (!(yield* perform('M8', lockVolume, 'modify', pair.volume))) return conclude('M11', dropped);
  return yield* call({ ...pair, target }, context);
}

function* withoutClass(claim: Claim): Flow<Conclusion> {
  const event = messages.classMissing(wantedClassOf(claim));
  if (modifyStatusOf(claim)?.status === 'Pending') return conclude('M9', done, event);
  return yield* withoutCall('M9', perform('M9', step.savePending, claim), event);
}

/** The driver would refuse the parameters of another one, or take them for its own. */
function* withForeignClass(claim: Claim, target: VolumeAttributesClass, { driver }: FlowContext): Flow<Conclusion> {
  const className = target.metadata?.name ?? '';
  const text = messages.classForeign(className, target.driverName, driver.name);
  const { status, targetVolumeAttributesClassName: recorded } = modifyStatusOf(claim) ?? {};
  const hasError = conditionsOf(claim).some(({ type, message }) => type === 'ModifyVolumeError' && message === text);
  const event = messages.failed(text);
  if (status === 'Infeasible' && recorded === className && hasError) return conclude('M10', done, event);
  return yield* withoutCall('M10', perform('M10', step.saveForeign, claim, { className, text }), event);
}

/** Done once the claim shows it: the class wakes the claim when it comes or changes. */
function* withoutCall(row: string, save: Flow<Claim | 'conflict'>, event: RecordedEvent): Flow<Conclusion> {
  const saved = yield* orEnd(save, (failure) => conclude(row, retry(failure), event));
  return saved === 'conflict' ? conclude(row, requeueAfter(afterConflictMs)) : conclude(row, done, event);
}

function* begin({ claim, volume, target }: Targeted, context: FlowContext): Flow<Conclusion> {
  if (!(yield* perform('M11', lockVolume, 'modify', volume))) return conclude('M11', dropped);
  const marked = yield* orEnd(perform('M12', step.mark, claim, target), (failure) => conclude('M12', retry(failure)));
  if (marked === 'conflict') return conclude('M12', requeueAfter(afterConflictMs));
  yield* perform('M13', announce, marked, messages.modifying(claim.metadata?.name ?? '', target.metadata?.name ?? ''));
  return yield* call({ claim: marked, volume, target }, context);
}

function* call(facts: Targeted, { settings }: FlowContext): Flow<Conclusion> {
  const planned = toModifyRequest(facts, settings);
  if (planned.kind === 'error') return failSilently('M14', new Error(planned.message));
  const { request, reference } = planned.value;
  const secrets =
    reference && (yield* orEnd(perform('M15', readCallSecret, reference), (cause) => failSilently('M15', cause)));
  try {
    yield* perform('M16', step.modify, facts.claim, { ...request, ...(secrets && { secrets }) });
  } catch (error) {
    return yield* recordFailure(facts, toError(error));
  }
  return yield* recordSuccess(facts);
}

/** First the PersistentVolume, then the claim: a claim that shows the class has a volume that has it. */
function* recordSuccess({ claim, volume, target }: Targeted): Flow<Conclusion> {
  const className = target.metadata?.name ?? '';
  if (volume.spec?.volumeAttributesClassName !== className) {
    yield* orEnd(perform('M17', step.saveVolume, { claim, volume }, className), (failure) =>
      failSilently('M17', failure),
    );
  }
  const saved = yield* orEnd(perform('M18', step.saveResult, claim, className), (failure) =>
    failSilently('M18', failure),
  );
  const wanted = wantedClassOf(saved);
  // The user may want another class by now. The own write does not wake the claim.
  const isWanted = wanted === className || wanted === '';
  return conclude('M19', isWanted ? done : requeueAfter(0), messages.modified(claim.metadata?.name ?? '', className));
}

const failureRows = { open: 'M20', infeasible: 'M21', final: 'M22' } as const;

function* recordFailure({ claim, target }: Targeted, failure: Error): Flow<Conclusion> {
  const outcome = outcomeOfModification(failure);
  if (outcome === 'notSent') return failSilently('M14', failure);
  const row = failureRows[outcome];
  yield* orEnd(perform(row, step.saveFailure, claim, { failure, outcome }), (unsaved) => conclude(row, retry(unsaved)));
  const event =
    outcome === 'open'
      ? messages.stillModifying(failure.message, target.metadata?.name ?? '')
      : messages.failed(failure.message);
  return conclude(row, retry(failure), event);
}

/** Without an event: nothing was asked of the driver, or its answer could not be recorded. */
function failSilently(row: string, cause: Error): Conclusion {
  return conclude(row, retry(new Error(messages.noStatus(cause.message), { cause })));
}
