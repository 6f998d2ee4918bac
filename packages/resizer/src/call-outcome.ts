// SPDX-License-Identifier: Apache-2.0
/**
 * What an error of ControllerExpandVolume or ControllerModifyVolume means.
 *
 * | Outcome | Meaning |
 * |---|---|
 * | infeasible | the driver will refuse this request whenever it is sent |
 * | final | the driver is not working on the request any more |
 * | open | the driver may still be working on it, so the request must not change |
 * | notSent | the call was not made, or the failure is no status of the driver |
 */
import { type Code, CsiError } from '@csi-sidecars/csi';

export type CallOutcome = 'infeasible' | 'final' | 'open' | 'notSent';

type KnownCode = Exclude<Extract<Code, string>, 'OK' | `Code(${number})`>;
type Verdicts = Readonly<Record<KnownCode, Exclude<CallOutcome, 'notSent'>>>;

/** The closed union is the table: a new code name does not compile until it has a verdict here. */
const modifyVerdicts: Verdicts = {
  Canceled: 'open',
  DeadlineExceeded: 'open',
  Unavailable: 'open',
  ResourceExhausted: 'open',
  Aborted: 'open',
  InvalidArgument: 'infeasible',
  Unknown: 'final',
  NotFound: 'final',
  AlreadyExists: 'final',
  PermissionDenied: 'final',
  FailedPrecondition: 'final',
  OutOfRange: 'final',
  Unimplemented: 'final',
  Internal: 'final',
  DataLoss: 'final',
  Unauthenticated: 'final',
};

const expandVerdicts: Verdicts = { ...modifyVerdicts, NotFound: 'infeasible', OutOfRange: 'infeasible' };

export function outcomeOfExpansion(error: Error): CallOutcome {
  return outcomeOf(error, expandVerdicts);
}

export function outcomeOfModification(error: Error): CallOutcome {
  return outcomeOf(error, modifyVerdicts);
}

function outcomeOf(error: Error, verdicts: Verdicts): CallOutcome {
  if (!(error instanceof CsiError)) return 'notSent';
  // The driver answered OK, and its answer could not be read: the request may have taken effect.
  if (error.isUnreadable) return 'open';
  return Object.hasOwn(verdicts, error.code) ? verdicts[error.code as KnownCode] : 'final';
}
