// SPDX-License-Identifier: Apache-2.0
/** How the runs of all loops end, and how a problem gets into a status on the way. */
import {
  type Attempt,
  type Conclusion as RuntimeConclusion,
  type EventRecorder,
  isFailed,
  type KubeObject,
  type Outcome,
  type RecordedEvent,
  retry,
} from '@csi-sidecars/runtime';
import { isReported, type Problem } from './save-error.ts';

export interface Conclusion extends RuntimeConclusion {
  readonly events: readonly RecordedEvent[];
}

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}

export interface SaveError<T extends KubeObject> {
  readonly row: string;
  readonly kind: 'saveError';
  readonly object: T;
  readonly problem: Problem;
}

export interface Failing<T extends KubeObject> {
  readonly row: string;
  readonly object: T;
  /** Default: retry with the backoff. */
  readonly outcome?: Outcome;
  readonly events?: readonly RecordedEvent[];
}

/** Reports the problem in the status of the object, unless it stands there, and ends the run. */
export function fail<T extends KubeObject>(
  { errorSaved }: { readonly errorSaved: Attempt },
  { row, object, outcome, events = [] }: Failing<T>,
  problem: Problem,
): SaveError<T> | Conclusion {
  if (errorSaved === 'untried' && !isReported(object, problem)) return { row, kind: 'saveError', object, problem };
  if (isFailed(errorSaved)) {
    return conclude(row, retry(new Error(problem.message, { cause: errorSaved.failure })), ...events);
  }
  return conclude(row, outcome ?? retry(new Error(problem.message)), ...events);
}

/** The events of a run that has ended, about the object that it was about. */
export function recordEvents(recorder: EventRecorder, object: KubeObject | undefined, { events }: Conclusion): void {
  if (object === undefined) return;
  for (const event of events) recorder.record(object, event);
}
