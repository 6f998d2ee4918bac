// SPDX-License-Identifier: Apache-2.0
/**
 * Events and metrics of a status that says more than before. What is reported follows from the status as it is stored and from the
 * operations in flight, not from the answer to the write: an answer may be lost, and then the next run reports. Nothing is reported twice,
 * because the report ends the operation.
 */
import { type EventRecorder, keyOf, type RecordedEvent, toObjectKey } from '@csi-sidecars/runtime';
import { type Conclusion, recordEvents } from '../conclusions.ts';
import type { CreateOperation, Operations } from '../operations.ts';
import type { Types, Kind } from './kind.ts';

export interface Reporting<T extends Types> {
  readonly events: EventRecorder;
  readonly operations: Operations;
  readonly kind: Kind<T>;
}

export function reportStatus<T extends Types>(
  { events, operations, kind }: Reporting<T>,
  snapshot: T['snapshot'],
  content: T['content'] | undefined,
): void {
  const { status, metadata } = snapshot;
  const driver = content?.spec?.driver ?? '';
  const report = (operation: CreateOperation, message: (key: string) => RecordedEvent): void => {
    if (operations.succeed(operation, metadata?.uid ?? '', driver)) events.record(snapshot, message(keyOf(snapshot)));
  };
  if (status?.creationTime !== undefined) report(kind.operations.created, kind.messages.created);
  if (status?.readyToUse === true) report(kind.operations.ready, kind.messages.ready);
}

interface Seen<T extends Types> {
  /** Undefined: it is gone. */
  readonly snapshot: T['snapshot'] | undefined;
  readonly content: T['content'] | undefined;
}

/** At the end of a run: what its snapshot shows with the writes of the run, and the events of its conclusion. */
export function reportRun<T extends Types>(
  reporting: Reporting<T>,
  caches: T['caches'],
  { conclusion, ...seen }: Seen<T> & { readonly conclusion: Conclusion },
): void {
  const { snapshot, content } = newest(reporting.kind, caches, seen);
  if (snapshot === undefined) return;
  if (snapshot.metadata?.deletionTimestamp === undefined) reportStatus(reporting, snapshot, content);
  recordEvents(reporting.events, snapshot, conclusion);
}

function newest<T extends Types>(kind: Kind<T>, caches: T['caches'], seen: Seen<T>): Seen<T> {
  const { snapshots, contents } = kind.cachesOf(caches);
  const now = seen.snapshot && snapshots.get(keyOf(seen.snapshot));
  if (now === undefined || now.metadata?.uid !== seen.snapshot?.metadata?.uid) return seen;
  return { snapshot: now, content: contents.get(toObjectKey(undefined, kind.contentNameFor(now))) };
}
