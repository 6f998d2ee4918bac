// SPDX-License-Identifier: Apache-2.0
/**
 * Events and metrics of a status that says more than before. What is reported follows from the status as it is stored and from the
 * operations in flight, not from the answer to the write: an answer may be lost, and then the next run reports. Nothing is reported twice,
 * because the report ends the operation.
 */
import type { EventRecorder, KubeObject, RecordedEvent } from '@csi-sidecars/runtime';
import type { CreateOperation, Operations } from './operations.ts';
import type { AnyStatus } from './status.ts';

export interface Milestones {
  readonly created: Milestone;
  readonly ready: Milestone;
}

interface Milestone {
  readonly operation: CreateOperation;
  readonly message: (key: string) => RecordedEvent;
}

export interface Reporting {
  readonly events: EventRecorder;
  readonly operations: Operations;
}

/** `driver` is empty if it is not known. */
export function reportMilestones(
  { events, operations }: Reporting,
  { created, ready }: Milestones,
  {
    object,
    key,
    driver,
  }: { readonly object: KubeObject & { readonly status?: AnyStatus }; readonly key: string; readonly driver: string },
): void {
  const { status, metadata } = object;
  const report = ({ operation, message }: Milestone): void => {
    if (operations.succeed(operation, metadata?.uid ?? '', driver)) events.record(object, message(key));
  };
  if (status?.creationTime !== undefined) report(created);
  if (status?.readyToUse === true) report(ready);
}
