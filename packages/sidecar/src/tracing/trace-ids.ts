// SPDX-License-Identifier: Apache-2.0
/**
 * Ids of traces, and whether a trace is sampled. By default the id is the UID of the claim, so that all programs write one trace of a claim, and
 * sample it or not in the same way. A trace does not grow for ever: after some runs of an object its later runs get traces of their own.
 */
import { createHash } from 'node:crypto';
import type { Random, TraceSubject } from '@csi-sidecars/runtime';

export interface TraceLink {
  readonly traceId: string;
  readonly spanId: string;
}

export interface TraceStart {
  readonly traceId: string;
  readonly links: readonly TraceLink[];
}

export interface TraceIdsOptions {
  readonly traceIds: 'object' | 'run';
  /** Default 200. */
  readonly maxRuns?: number;
  /** The objects that are remembered. The one whose last run is longest ago is forgotten first. Default 4,096. */
  readonly maxObjects?: number;
}

interface Runs {
  count: number;
  /** The span of the last run in the trace of the object. */
  spanId: string;
}

/** Returns the trace of a run whose span has this id. */
export function traceIdsOf(
  random: Random,
  { traceIds, maxRuns = 200, maxObjects = 4_096 }: TraceIdsOptions,
): (subject: TraceSubject | undefined, spanId: string) => TraceStart {
  const objects = new Map<string, Runs>();

  const runsOf = (uid: string): Runs => {
    const runs = objects.get(uid) ?? { count: 0, spanId: '' };
    objects.delete(uid);
    objects.set(uid, runs);
    if (objects.size > maxObjects) objects.delete(objects.keys().next().value!);
    return runs;
  };

  return (subject, spanId) => {
    const links = linksOf(subject?.traceparent);
    const uid = traceIds === 'object' ? subject?.uid : undefined;
    const traceId = uid === undefined ? undefined : traceIdOf(uid);
    if (uid === undefined || traceId === undefined) return { traceId: withoutDashes(random.uuid()), links };
    const runs = runsOf(uid);
    if (runs.count >= maxRuns) {
      return { traceId: withoutDashes(random.uuid()), links: [...links, { traceId, spanId: runs.spanId }] };
    }
    runs.count += 1;
    runs.spanId = spanId;
    return { traceId, links };
  };
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** 16 bytes in hexadecimal. */
export function traceIdOf(uid: string): string {
  const text = uid.toLowerCase();
  const id = uuid.test(text) ? withoutDashes(text) : createHash('sha256').update(uid).digest('hex').slice(0, 32);
  return isZero(id) ? createHash('sha256').update(uid).digest('hex').slice(0, 32) : id;
}

/** Half of a random UUID, in hexadecimal. It is never zero. */
export function spanIdOf(random: Random): string {
  return withoutDashes(random.uuid()).slice(16);
}

/** By the last seven bytes of the id, as the specification of OpenTelemetry has it: every program decides the same. */
export function isSampled(traceId: string, ratio: number): boolean {
  const value = Number.parseInt(traceId.slice(-14, -1), 16) / 2 ** 52;
  return value >= 1 - ratio;
}

const context = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;

/** What is no trace context of version 00 is ignored, however long it is: the pattern fails at the first character that differs. */
function linksOf(text: string | undefined): readonly TraceLink[] {
  const [, traceId, spanId] = context.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || isZero(traceId) || isZero(spanId)) return [];
  return [{ traceId, spanId }];
}

function isZero(id: string): boolean {
  return /^0+$/.test(id);
}

function withoutDashes(text: string): string {
  return text.replaceAll('-', '');
}
