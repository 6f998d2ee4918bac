// SPDX-License-Identifier: Apache-2.0
/**
 * What the process remembers of volumes that are reported as unhealthy, by the names of their PersistentVolumes. Of healthy volumes nothing is
 * remembered, and a restart loses nothing: the claims hold what was reported.
 */
import type { Clock, ObjectKey, PersistentVolumeClaim, Sample } from '@csi-sidecars/runtime';
import type { HealthChange } from './report/change.ts';
import type { HealthCondition } from './report/health-status.ts';
import { createWriteTurns, type WriteTurns } from './write-turns.ts';
import type { ClaimRef } from './watched.ts';

export interface KnownHealth {
  readonly claim: ClaimRef;
  /** What the driver reported last. Empty: nothing adverse, and the claim does not show it yet. */
  readonly conditions: readonly HealthCondition[];
  /** The report has entries that cannot be stored. */
  readonly hasUnknown: boolean;
}

/** `message`: only messages differ, and the last such write is recent. `refused`: the API server refused this value recently. */
export type Hold = 'message' | 'refused';

export interface HealthMemory {
  readonly turns: WriteTurns;
  readonly report: (key: ObjectKey, known: KnownHealth) => void;
  readonly of: (key: ObjectKey) => KnownHealth | undefined;
  /** Undefined: nothing adverse was reported to this process; the claim may show what an earlier one has stored. */
  readonly isUnhealthy: (key: ObjectKey) => true | undefined;
  /** The claim shows what was reported. */
  readonly settled: (key: ObjectKey, known: KnownHealth) => void;
  readonly forget: (key: ObjectKey) => void;
  /** The PersistentVolume is gone: what its claim shows has to go too. */
  readonly end: (key: ObjectKey, claim: ClaimRef) => void;
  readonly endedClaim: (key: ObjectKey) => ClaimRef | undefined;
  readonly noteWritten: (key: ObjectKey, change: HealthChange) => void;
  readonly noteRefused: (key: ObjectKey, change: HealthChange) => void;
  readonly holdOf: (key: ObjectKey, change: HealthChange) => Hold | undefined;
  /** True: an event with this text is due for the volume. */
  readonly isEventDue: (key: ObjectKey, text: string) => boolean;
  /** For how long the claim of the volume has been missed. */
  readonly missedForMs: (key: ObjectKey) => number;
  readonly noteFound: (key: ObjectKey) => void;
  /** The claim of the volume, which the cache does not have, was read. It is remembered until it shows the report. */
  readonly noteRead: (key: ObjectKey, claim: PersistentVolumeClaim) => void;
  readonly readClaim: (key: ObjectKey) => PersistentVolumeClaim | undefined;
  /** One series for each status of each unhealthy volume. */
  readonly samples: () => Iterable<Sample>;
}

interface Notes {
  messageMs?: number;
  refused?: { readonly text: string; readonly atMs: number };
  event?: { readonly text: string; readonly atMs: number };
}

const minuteMs = 60_000;
/** Messages with counters or times would else cause a write in each cycle. */
const betweenMessagesMs = 10 * minuteMs;
const betweenRefusalsMs = 10 * minuteMs;
const betweenEventsMs = 60 * minuteMs;

export function createHealthMemory(clock: Pick<Clock, 'monotonicMs'>): HealthMemory {
  const reports = new Map<ObjectKey, KnownHealth>();
  const notes = new Map<ObjectKey, Notes>();
  const ended = new Map<ObjectKey, ClaimRef>();
  const missedSince = new Map<ObjectKey, number>();
  const read = new Map<ObjectKey, PersistentVolumeClaim>();
  const turns = createWriteTurns();
  const isRecent = (atMs: number | undefined, forMs: number): boolean =>
    atMs !== undefined && clock.monotonicMs() - atMs < forMs;
  const noteOf = (key: ObjectKey): Notes => {
    let found = notes.get(key);
    if (found === undefined) notes.set(key, (found = {}));
    return found;
  };
  const forget = (key: ObjectKey): void => {
    reports.delete(key);
    notes.delete(key);
    ended.delete(key);
    read.delete(key);
    turns.forget(key);
  };
  return {
    turns,
    report: (key, known) => void reports.set(key, known),
    of: (key) => reports.get(key),
    isUnhealthy: (key) => {
      const known = reports.get(key);
      return known !== undefined && (known.conditions.length > 0 || known.hasUnknown) ? true : undefined;
    },
    settled: (key, known) => {
      read.delete(key);
      if (reports.get(key) === known && known.conditions.length === 0 && !known.hasUnknown) forget(key);
    },
    forget,
    end: (key, claim) => {
      forget(key);
      missedSince.delete(key);
      ended.set(key, claim);
    },
    endedClaim: (key) => ended.get(key),
    noteWritten: (key, change) => {
      const note = noteOf(key);
      delete note.refused;
      if (change.kind === 'set' && change.isMessageOnly) note.messageMs = clock.monotonicMs();
    },
    noteRefused: (key, change) => {
      noteOf(key).refused = { text: textOf(change), atMs: clock.monotonicMs() };
    },
    holdOf: (key, change) => {
      const { messageMs, refused } = notes.get(key) ?? {};
      if (refused?.text === textOf(change) && isRecent(refused.atMs, betweenRefusalsMs)) return 'refused';
      if (change.kind === 'set' && change.isMessageOnly && isRecent(messageMs, betweenMessagesMs)) return 'message';
      return undefined;
    },
    isEventDue: (key, text) => {
      const note = noteOf(key);
      if (note.event?.text === text && isRecent(note.event.atMs, betweenEventsMs)) return false;
      note.event = { text, atMs: clock.monotonicMs() };
      return true;
    },
    missedForMs: (key) => {
      const nowMs = clock.monotonicMs();
      const sinceMs = missedSince.get(key) ?? nowMs;
      missedSince.set(key, sinceMs);
      return nowMs - sinceMs;
    },
    noteFound: (key) => void missedSince.delete(key),
    noteRead: (key, claim) => void read.set(key, claim),
    readClaim: (key) => read.get(key),
    samples: () => samplesOf(reports.values()),
  };
}

function textOf(change: HealthChange): string {
  return JSON.stringify(change.kind === 'set' ? change.conditions : []);
}

function* samplesOf(reports: Iterable<KnownHealth>): Generator<Sample> {
  const seen = new Set<string>();
  for (const { claim, conditions, hasUnknown } of reports) {
    const statuses = new Set<string>(conditions.map(({ status }) => status));
    if (hasUnknown) statuses.add('Unknown');
    for (const status of statuses) {
      const labels = { namespace: claim.namespace, persistentvolumeclaim: claim.name, status };
      const id = JSON.stringify(labels);
      if (!seen.has(id)) yield { labels, value: 1 };
      seen.add(id);
    }
  }
}
