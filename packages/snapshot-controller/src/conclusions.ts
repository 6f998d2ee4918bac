// SPDX-License-Identifier: Apache-2.0
/** How the runs of all loops end, and how a problem gets into a status on the way. */
import {
  type Conclusion as AnyConclusion,
  type EventRecorder,
  type Flow,
  type KubeObject,
  orEnd,
  type Outcome,
  perform,
  type RecordedEvent,
  retry,
} from '@csi-sidecars/runtime';
import { isReported, type Problem } from './save-error.ts';

export interface Conclusion extends AnyConclusion {
  readonly events: readonly RecordedEvent[];
}

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}

export interface Failing {
  /** Default: retry with the backoff. */
  readonly outcome?: Outcome;
  readonly events?: readonly RecordedEvent[];
}

/** Ends a run with a problem that its object shows. */
export type Fail<T extends KubeObject> = (row: string, object: T, failing: Problem & Failing) => Flow<Conclusion>;

/** `save` shows the problem in the status of the object. One that stands there already is not written again. */
export function failing<T extends KubeObject>(
  save: (run: never, object: T, problem: Problem) => Promise<void>,
): Fail<T> {
  return function* (row, object, { outcome, events = [], ...problem }) {
    if (!isReported(object, problem)) {
      yield* orEnd(perform(row, save, object, problem), (cause) =>
        conclude(row, retry(new Error(problem.message, { cause })), ...events),
      );
    }
    return conclude(row, outcome ?? retry(new Error(problem.message)), ...events);
  };
}

/** The events of a run that has ended, about the object that it was about. */
export function recordEvents(recorder: EventRecorder, object: KubeObject | undefined, { events }: Conclusion): void {
  if (object === undefined) return;
  for (const event of events) recorder.record(object, event);
}
