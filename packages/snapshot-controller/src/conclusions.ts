// SPDX-License-Identifier: Apache-2.0
/** How the runs of all loops end, and the events that they record. */
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

export const warning = (reason: string, message: string): RecordedEvent => ({ type: 'Warning', reason, message });
export const normal = (reason: string, message: string): RecordedEvent => ({ type: 'Normal', reason, message });

/** The events of a run that has ended, about the object that it was about. */
export function recordEvents(recorder: EventRecorder, object: KubeObject | undefined, { events }: Conclusion): void {
  if (object === undefined) return;
  for (const event of events) recorder.record(object, event);
}
