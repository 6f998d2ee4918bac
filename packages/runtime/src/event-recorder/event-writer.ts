// SPDX-License-Identifier: Apache-2.0
import type { ApiClient } from '../api/client.ts';
import { isAlreadyExists, isNamespaceTerminating } from '../api/error-predicates.ts';
import { ApiError } from '../api/errors.ts';
import { ignoreNotFound } from '../api/ignore-not-found.ts';
import type { Event } from '../api/objects.ts';
import { events } from '../api/resource.ts';
import { TransportError } from '../api/transport.ts';
import type { Correlated } from './correlator.ts';

export type WriteResult =
  | { readonly kind: 'written'; readonly event: Event }
  /** The server did not answer, so another attempt may succeed. */
  | { readonly kind: 'unanswered'; readonly error: TransportError }
  /** The server refused the event. `expected`: a refusal that no user can prevent. */
  | { readonly kind: 'rejected'; readonly error: unknown; readonly expected: boolean };

/** The refusal of a server that has a trouble of its own: the same event may be taken later. */
export function isPassing(error: unknown): boolean {
  return error instanceof ApiError && (error.status >= 500 || error.status === 408 || error.status === 429);
}

/** One request, or two. Shorter than the client's default: an event is not worth a long wait, and others wait behind it. */
const timeoutMs = 10_000;

/** Writes what the correlator decided; never rejects. */
export async function writeEvent(
  client: ApiClient,
  { how, event }: Extract<Correlated, { kind: 'write' }>,
  signal: AbortSignal,
): Promise<WriteResult> {
  const options = { signal, timeoutMs, priority: 'low' } as const;
  try {
    if (how === 'update') {
      const updated = await patch();
      if (updated !== undefined) return { kind: 'written', event: updated };
    }
    return { kind: 'written', event: await client.create(events, event, options) };
  } catch (error) {
    if (error instanceof TransportError) return { kind: 'unanswered', error };
    const expected = isAlreadyExists(error) || isNamespaceTerminating(error);
    return { kind: 'rejected', error, expected };
  }

  /** Undefined when the event is gone: the server forgets events after an hour. */
  async function patch(): Promise<Event | undefined> {
    const { name = '', namespace } = event.metadata;
    const { count, lastTimestamp, message } = event;
    const target = { resource: events, ref: { namespace, name } };
    const body = { count, lastTimestamp, message };
    return await client.patch(target, { type: 'strategic', body }, options).catch(ignoreNotFound);
  }
}
