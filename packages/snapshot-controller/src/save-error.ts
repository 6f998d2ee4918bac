// SPDX-License-Identifier: Apache-2.0
/** An error that the controller itself finds, in the status of a snapshot or a group snapshot. One helper for both kinds. */
import {
  changeObject,
  type ChangeObjectDeps,
  type EventRecorder,
  type KubeObject,
  type Resource,
  timestamp,
} from '@csi-sidecars/runtime';
import type { SnapshotError } from '@csi-sidecars/volume';
import { becameReady } from './status.ts';

export interface Problem {
  /** Reason of the event. */
  readonly reason: string;
  readonly message: string;
  /** `notReady`: `readyToUse` becomes false. `kept`: it stays as it is. */
  readonly readiness: 'notReady' | 'kept';
}

interface WithError extends KubeObject {
  readonly status?: { readonly error?: SnapshotError; readonly readyToUse?: boolean };
}

/** The status says it already: neither a write nor an event. */
export function isReported({ status }: WithError, { message }: Problem): boolean {
  return status?.error?.message === message;
}

export interface SaveErrorDeps<T extends WithError> extends ChangeObjectDeps<T> {
  readonly events: EventRecorder;
}

export interface ErrorToSave<T extends WithError> {
  readonly resource: Resource<T>;
  readonly object: T;
  readonly problem: Problem;
}

/**
 * The event is recorded whether or not the write succeeded: a failure to report must not hide what is reported. An object that became
 * ready since it was read does not have the problem: nothing is written, and the next run looks again.
 */
export async function saveError<T extends WithError>(
  { events, ...deps }: SaveErrorDeps<T>,
  { resource, object, problem }: ErrorToSave<T>,
  signal: AbortSignal,
): Promise<void> {
  const error = { time: timestamp(deps.clock.nowMs()), message: problem.message };
  const status = { error, ...(problem.readiness === 'notReady' ? { readyToUse: false } : {}) };
  let isOvertaken = false;
  const patch = (known: T): { readonly status: object } | undefined => {
    isOvertaken = becameReady(object, known);
    return isOvertaken || isReported(known, problem) ? undefined : { status };
  };
  try {
    await changeObject(deps, { resource, object, subresource: 'status', patch }, { signal });
  } finally {
    if (!isOvertaken) events.record(object, { type: 'Warning', reason: problem.reason, message: problem.message });
  }
}
