// SPDX-License-Identifier: Apache-2.0
/**
 * The meaning of CreateVolume's answer: rows O1 to O12 of the provisioner's page. Not here: the reaction to it.
 *
 * `isSettled`: according to this answer, no unrecorded volume of our name exists or will exist.
 */
import type { Code, CreateVolumeRequestInput, Volume } from '@csi-sidecars/csi';
import { repairVolumeHandle } from '@csi-sidecars/volume';
import type { Plan } from './plan.ts';

export type CreateOutcome = { readonly row: OutcomeRow } & (
  | { readonly kind: 'final'; readonly message: string; readonly isSettled: boolean }
  | { readonly kind: 'infeasible' | 'reschedule' | 'malformed'; readonly message: string }
  | { readonly kind: 'ambiguous'; readonly message: string; readonly isAnswer: boolean }
  | Unusable
  | { readonly kind: 'made'; readonly volume: Volume; readonly bytes: bigint }
);

export type OutcomeRow = `O${number}`;

/** A volume that has to be deleted again. */
export interface Unusable {
  /**
   * O8: too small. O10: without the data of its source. O11: it cannot be recorded as a volume of the in-tree plugin. O12: the claim has a
   * volume of another node.
   */
  readonly row: 'O8' | 'O10' | 'O11' | 'O12';
  readonly kind: 'unusable';
  readonly message: string;
  readonly volumeId: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * `inconclusive`: final for a first call. After an ambiguous answer it proves nothing: a driver may return it without
 * having looked for the volume, or because it found the volume.
 */
type Verdict = 'final' | 'inconclusive' | 'infeasible' | 'exhausted' | 'ambiguous';

/** The closed union is the table: a new code name does not compile until it has an entry here. */
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
  /** Undefined if the failure was not a status of the driver, so nothing is known. */
  readonly code: Exclude<Code, 'OK'> | undefined;
  readonly message: string;
  /** False if the call never reached the driver. */
  readonly isAnswer: boolean;
  /** Topology is supported and a node is selected: the scheduler can choose another one. */
  readonly mayReschedule: boolean;
  /** An earlier CreateVolume of this claim may have made a volume. */
  readonly wasUnsettled: boolean;
}

export function toErrorOutcome({ code, message, isAnswer, mayReschedule, wasUnsettled }: ErrorFacts): CreateOutcome {
  const verdict = code === undefined ? 'ambiguous' : verdictOf(code);
  switch (verdict) {
    case 'ambiguous':
      return { row: 'O1', kind: 'ambiguous', message, isAnswer };
    case 'infeasible':
      return { row: 'O3', kind: 'infeasible', message };
    case 'exhausted':
      if (mayReschedule) return { row: 'O2', kind: 'reschedule', message };
      break;
    case 'inconclusive':
      if (wasUnsettled) return { row: 'O4', kind: 'final', message, isSettled: false };
      break;
    case 'final':
  }
  return { row: 'O5', kind: 'final', message, isSettled: true };
}

/** Whether the driver may still be working on the call after this failure. */
export function isOpen(code: Exclude<Code, 'OK'> | undefined): boolean {
  return code === undefined || verdictOf(code) === 'ambiguous';
}

function verdictOf(code: Exclude<Code, 'OK'>): Verdict {
  // A code that this version does not know is not among those that CSI defines as "still going on".
  return Object.hasOwn(verdicts, code) ? verdicts[code as keyof typeof verdicts] : 'inconclusive';
}

/** Far above the limit of the protocol (128 bytes) and the ids of drivers, far below the limit of the API server. */
const maxVolumeIdBytes = 16_384;

export interface ResponseFacts {
  readonly plan: Plan;
  readonly request: CreateVolumeRequestInput;
  /** The answer has to name the content source of the volume. */
  readonly isConfirmed: boolean;
  readonly driverName: string;
}

export function toResponseOutcome(
  volume: Volume | null,
  { plan, request, isConfirmed, driverName }: ResponseFacts,
): CreateOutcome {
  if (volume === null) return { row: 'O6', kind: 'malformed', message: 'CreateVolume response has no volume' };
  const id = volume.volume_id;
  if (id === '') return { row: 'O6', kind: 'malformed', message: 'CreateVolume response has an empty volume_id' };
  if (Buffer.byteLength(id) > maxVolumeIdBytes) {
    const message = `CreateVolume response has a volume_id of more than ${maxVolumeIdBytes} bytes`;
    return { row: 'O6', kind: 'malformed', message };
  }
  // A PersistentVolume of it, or its deletion as a volume that is not usable, would destroy the data of the source.
  if (isSourceOf(request, id, driverName)) {
    return { row: 'O6', kind: 'malformed', message: 'CreateVolume response has the volume_id of the source' };
  }
  const reported = BigInt(volume.capacity_bytes);
  const requested = plan.requiredBytes;
  if (reported !== 0n && reported < requested) {
    const message = `created volume capacity ${reported} less than requested capacity ${requested}`;
    return { row: 'O8', kind: 'unusable', message, volumeId: id, attributes: volume.volume_context };
  }
  if (isConfirmed && volume.content_source === null) {
    const message = 'volume content source missing';
    return { row: 'O10', kind: 'unusable', message, volumeId: id, attributes: volume.volume_context };
  }
  if (reported === 0n) return { row: 'O7', kind: 'made', volume, bytes: requested };
  return { row: 'O9', kind: 'made', volume, bytes: reported };
}

/** The handle of a source that an in-tree PersistentVolume records may have gaps. */
function isSourceOf({ volume_content_source: source }: CreateVolumeRequestInput, id: string, driver: string): boolean {
  const volumeHandle = source?.volume?.volume_id ?? '';
  if (volumeHandle === '') return false;
  const repaired = repairVolumeHandle({ driver, volumeHandle }, id);
  return volumeHandle === id || (repaired.kind === 'ok' && repaired.value === id);
}
