// SPDX-License-Identifier: Apache-2.0
/** How the runs of all loops end. */
import {
  type Conclusion as AnyConclusion,
  type EventRecorder,
  type KubeObject,
  type Outcome,
  type RecordedEvent,
} from '@csi-sidecars/runtime';

export interface Conclusion extends AnyConclusion {
  readonly events: readonly RecordedEvent[];
}

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}

/** The events of a run that has ended, about the object that it was about. */
export function recordEvents(recorder: EventRecorder, object: KubeObject | undefined, { events }: Conclusion): void {
  if (object === undefined) return;
  for (const event of events) recorder.record(object, event);
}
