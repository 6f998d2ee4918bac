// SPDX-License-Identifier: Apache-2.0
/**
 * Where a snapshot can be used is recorded (alpha, the gate VolumeSnapshotTopology). Pure.
 *
 * It is written before the status: a content whose status is ready gets no further answer of the driver, so what was not written before would be
 * lost with the process. What the API server refuses for good, or does not keep, must not keep a snapshot from its users.
 */
import {
  ApiError,
  concluded,
  done,
  ending,
  type Flow,
  orEnd,
  perform,
  type RecordedEvent,
  retry,
  toError,
} from '@csi-sidecars/runtime';
import { contentNameOf } from './content-object.ts';
import type { Conclusion, ContentTypes } from './content-types.ts';
import * as messages from './messages.ts';
import { conclude, type Present, readSecret } from './run.ts';
import * as step from './steps.ts';

interface Recorded<T extends ContentTypes> {
  readonly content: T['content'];
  readonly events: readonly RecordedEvent[];
}

/** `failed`: how a run ends that may write them later. */
export function* recordPlaces<T extends ContentTypes>(
  run: Present<T>,
  taken: T['taken'],
  failed: (row: string, cause: string) => Flow<Conclusion>,
): Flow<Recorded<T>> {
  const { content, kind, context, places } = run;
  if (kind.places === undefined) return { content, events: [] };
  const { row, answerOf, areMissing, notSaved } = kind.places;
  const answer = answerOf(content, taken, context);
  if (answer.kind === 'refused') return { content, events: [messages.placesNotRecorded(answer.message)] };
  if (answer.kind === 'nothing' || !places.areKept) return { content, events: [] };
  const name = contentNameOf(content);
  const wish = { terms: answer.terms, mayBeReady: (current: T['content']) => areMissing(current, context) };
  try {
    return { content: yield* perform(row, step.savePlaces<T>, content, wish), events: [] };
  } catch (error) {
    const cause = messages.notWritten(name, toError(error).message);
    if (isRefusal(error)) return { content, events: [messages.placesNotRecorded(cause)] };
    throw ending(yield* failed(row, notSaved(name, cause)));
  }
}

/** Bad request, forbidden, too large, invalid: the same answer comes again. */
const refusals: ReadonlySet<number> = new Set([400, 403, 413, 422]);

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && refusals.has(error.status);
}

/** The driver is asked about a snapshot of a group that is ready, once: its content was made from an answer that cannot hold topologies. */
export function* askForPlaces<T extends ContentTypes>(run: Present<T>, row: string): Flow<Conclusion> {
  const { content, kind, context } = run;
  const again = (cause: string): Conclusion => conclude(row, retry(new Error(cause)));
  const plan = kind.planQuery(content, run.class, context);
  if (plan.kind === 'error') return again(plan.message);
  const { request, reference, readAnswer } = plan.value;
  // eslint-disable-next-line require-yield
  const later = function* (at: string, cause: string): Flow<Conclusion> {
    return conclude(at, retry(new Error(cause)));
  };
  const secrets = yield* readSecret(run, row, { reference, failed: ({ message }) => later(row, message) });
  const answer = yield* orEnd(perform(row, step.query<T>, { ...request, ...secrets }), ({ message }) => again(message));
  const taken = readAnswer(answer);
  if (taken.kind === 'error') return again(taken.message);
  const { events } = yield* recordPlaces(run, taken.value, later);
  yield* perform(row, step.noteAsked<T>, content);
  return conclude(row, done, ...events);
}

/** What a run shows after the events about places, however it ends. */
export function* after(events: readonly RecordedEvent[], rest: Flow<Conclusion>): Flow<Conclusion> {
  const end = yield* concluded(rest);
  return { ...end, events: [...events, ...end.events] };
}
