// SPDX-License-Identifier: Apache-2.0
/**
 * What CreateVolume's answer means: rows O1 to O9 of the provisioner's page. Not here: what is done about it.
 *
 * `isSettled` says whether, as far as this answer tells, no volume of our name exists or comes to exist without us knowing.
 */
import type { Code, Volume } from '@csi-sidecars/csi';
import type { Plan } from './plan.ts';

export type CreateOutcome =
  | { readonly kind: 'final'; readonly message: string; readonly isSettled: boolean }
  | { readonly kind: 'infeasible' | 'reschedule' | 'ambiguous' | 'malformed'; readonly message: string }
  | TooSmall
  | { readonly kind: 'made'; readonly volume: Volume; readonly bytes: bigint };

/** A volume that has to be deleted again. */
export interface TooSmall {
  readonly kind: 'tooSmall';
  readonly message: string;
  readonly volumeId: string;
}

/**
 * `inconclusive`: as good as final for a first call. After an ambiguous one it proves nothing: a driver may say it without
 * having looked for the volume, or because it found it.
 */
type Verdict = 'final' | 'inconclusive' | 'infeasible' | 'exhausted' | 'ambiguous';

/** The closed union is the table: a new code name does not compile until somebody decides here. */
const verdicts: Readonly<Record<Exclude<Extract<Code, string>, 'OK' | `Code(${number})`>, Verdict>> = {
  Canceled: 'ambiguous',
  DeadlineExceeded: 'ambiguous',
  Unavailable: 'ambiguous',
  Aborted: 'ambiguous',
  ResourceExhausted: 'exhausted',
  InvalidArgument: 'infeasible',
  AlreadyExists: 'inconclusive',
  Unknown: 'inconclusive',
  NotFound: 'inconclusive',
  PermissionDenied: 'inconclusive',
  FailedPrecondition: 'inconclusive',
  OutOfRange: 'final',
  Unimplemented: 'final',
  Internal: 'inconclusive',
  DataLoss: 'inconclusive',
  Unauthenticated: 'inconclusive',
};

export interface ErrorFacts {
  /** Undefined: the failure was no status of the driver's, so nothing is known. */
  readonly code: Exclude<Code, 'OK'> | undefined;
  readonly message: string;
  /** Topology is supported and a node is selected: the scheduler can choose another one. */
  readonly mayReschedule: boolean;
  /** An earlier CreateVolume of this claim may have made a volume. */
  readonly wasUnsettled: boolean;
}

export function toErrorOutcome({ code, message, mayReschedule, wasUnsettled }: ErrorFacts): CreateOutcome {
  const verdict = code === undefined ? 'ambiguous' : verdictOf(code);
  switch (verdict) {
    case 'ambiguous':
    case 'infeasible':
      return { kind: verdict, message }; // O1, O3
    case 'exhausted':
      return mayReschedule ? { kind: 'reschedule', message } : { kind: 'final', message, isSettled: true }; // O2, O5
    case 'inconclusive':
      return { kind: 'final', message, isSettled: !wasUnsettled }; // O4, O5
    case 'final':
      return { kind: 'final', message, isSettled: true }; // O5
  }
}

/** Whether the driver may still be working on what was asked when the call ended so. */
export function isOpen(code: Exclude<Code, 'OK'> | undefined): boolean {
  return code === undefined || verdictOf(code) === 'ambiguous';
}

function verdictOf(code: Exclude<Code, 'OK'>): Verdict {
  // A number that this version does not know is no code that CSI defines as "still going on".
  return Object.hasOwn(verdicts, code) ? verdicts[code as keyof typeof verdicts] : 'inconclusive';
}

/** Far beyond what the protocol allows (128 bytes) and drivers use, far below what the API server takes. */
const maxVolumeIdBytes = 16_384;

export function toResponseOutcome(volume: Volume | null, plan: Plan): CreateOutcome {
  if (volume === null) return { kind: 'malformed', message: 'CreateVolume response has no volume' }; // O6
  const id = volume.volume_id;
  if (id === '') return { kind: 'malformed', message: 'CreateVolume response has an empty volume_id' }; // O6
  if (Buffer.byteLength(id) > maxVolumeIdBytes) {
    const message = `CreateVolume response has a volume_id of more than ${maxVolumeIdBytes} bytes`;
    return { kind: 'malformed', message }; // O6
  }
  const reported = BigInt(volume.capacity_bytes);
  const requested = plan.requiredBytes;
  if (reported === 0n) return { kind: 'made', volume, bytes: requested }; // O7
  if (reported < requested || reported < 0n) {
    const message = `created volume capacity ${reported} less than requested capacity ${requested}`;
    return { kind: 'tooSmall', message, volumeId: id }; // O8
  }
  return { kind: 'made', volume, bytes: reported }; // O9
}
