// SPDX-License-Identifier: Apache-2.0
/**
 * What the status of a snapshot or a group snapshot has to become by that of its content. Pure; the same for both kinds.
 *
 * Fields that are set stay as they are, except readiness and error, which follow the content until the snapshot is ready. Values are
 * compared, so a status that says it already is not written.
 */
import {
  formatBytes,
  type Int64,
  nanosecondsToTime,
  parseQuantity,
  type SnapshotError,
  toBytes,
} from '@csi-sidecars/volume';

export interface ContentFacts {
  readonly readyToUse: boolean;
  /** RFC 3339. */
  readonly creationTime?: string | undefined;
  readonly restoreSize?: bigint | undefined;
  readonly error?: SnapshotError | undefined;
  readonly groupName?: string | undefined;
}

export interface AnyStatus {
  readonly creationTime?: string;
  readonly readyToUse?: boolean;
  readonly restoreSize?: string;
  readonly error?: SnapshotError;
  readonly volumeGroupSnapshotName?: string;
}

/** What the controller itself finds wrong, for the status and an event. */
export interface Problem {
  /** Reason of the event. */
  readonly reason: string;
  readonly message: string;
  /** `notReady`: `readyToUse` becomes false. `kept`: it stays as it is. */
  readonly readiness: 'notReady' | 'kept';
}

export const notReady = (reason: string, message: string): Problem => ({ reason, message, readiness: 'notReady' });
export const kept = (reason: string, message: string): Problem => ({ reason, message, readiness: 'kept' });

/** The status says it already: neither a write nor an event. */
export function isReported({ status }: { readonly status?: AnyStatus }, { message }: Problem): boolean {
  return status?.error?.message === message;
}

/** Another writer reported its readiness since it was read: what was decided on the earlier state is not true any more. */
export function becameReady(earlier: { readonly status?: AnyStatus }, later: { readonly status?: AnyStatus }): boolean {
  return later.status?.readyToUse === true && earlier.status?.readyToUse !== true;
}

/** The fields of a merge patch. */
export type StatusPatch = Readonly<Record<string, unknown>>;

/** Undefined: nothing has to change. `bound` is the field that names the content, and its value. */
export function mergedStatus(
  status: AnyStatus | undefined,
  content: ContentFacts,
  bound: { readonly field: string; readonly name: string },
): StatusPatch | undefined {
  const changed: Record<string, unknown> = {};
  const known = status as Readonly<Record<string, unknown>> | undefined;
  if ((known?.[bound.field] ?? '') === '') changed[bound.field] = bound.name;
  if (status?.readyToUse !== content.readyToUse) changed['readyToUse'] = content.readyToUse;
  if (status?.creationTime === undefined && content.creationTime !== undefined) {
    changed['creationTime'] = content.creationTime;
  }
  const size = content.restoreSize;
  if (size !== undefined && (status?.restoreSize === undefined || (isZero(status.restoreSize) && size > 0n))) {
    changed['restoreSize'] = formatBytes(size);
  }
  if (!isSameError(status?.error, content.error)) changed['error'] = errorPatch(content.error);
  if (content.groupName !== undefined && status?.volumeGroupSnapshotName === undefined) {
    changed['volumeGroupSnapshotName'] = content.groupName;
  }
  return Object.keys(changed).length === 0 ? undefined : changed;
}

function isZero(text: string): boolean {
  const quantity = parseQuantity(text);
  return quantity !== undefined && toBytes(quantity) === 0n;
}

function isSameError(left: SnapshotError | undefined, right: SnapshotError | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return left.message === right.message && left.time === right.time;
}

/** Whole: a field that the content's error lacks goes too. Null removes the error. */
function errorPatch(error: SnapshotError | undefined): object | null {
  return error === undefined ? null : { time: error.time ?? null, message: error.message ?? null };
}

/** Undefined for what is no int64: the definitions let integers of any size pass, and a time that is none would fail each run. */
export function int64(value: Int64 | undefined): bigint | undefined {
  const isInteger = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
  if (!isInteger) return undefined;
  const exact = BigInt(value);
  return BigInt.asIntN(64, exact) === exact ? exact : undefined;
}

export function timeOf(nanoseconds: Int64 | undefined): string | undefined {
  const value = int64(nanoseconds);
  return value === undefined ? undefined : nanosecondsToTime(value);
}
