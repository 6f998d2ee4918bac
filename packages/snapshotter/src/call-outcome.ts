// SPDX-License-Identifier: Apache-2.0
/**
 * What an error of CreateSnapshot or CreateVolumeGroupSnapshot means.
 *
 * | Outcome | Meaning |
 * |---|---|
 * | final | the driver is not working on the request any more |
 * | open | the driver may still be working on it, or has done it: the content must not be deleted before its answer is known |
 */
import { type Code, CsiError } from '@csi-sidecars/csi';

export type CallOutcome = 'final' | 'open';

type KnownCode = Exclude<Extract<Code, string>, 'OK' | `Code(${number})`>;

/** The closed union is the table: a new code name does not compile until it has a verdict here. */
const verdicts: Readonly<Record<KnownCode, CallOutcome>> = {
  Canceled: 'open',
  DeadlineExceeded: 'open',
  Unavailable: 'open',
  ResourceExhausted: 'open',
  Aborted: 'open',
  Unknown: 'final',
  InvalidArgument: 'final',
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

export function outcomeOfCreation(error: Error): CallOutcome {
  if (!(error instanceof CsiError)) return 'open';
  // The driver answered OK, and its answer could not be read: the snapshot may be there.
  if (error.isUnreadable) return 'open';
  return Object.hasOwn(verdicts, error.code) ? verdicts[error.code as KnownCode] : 'final';
}
