// SPDX-License-Identifier: Apache-2.0
/** Requests about one source that many claims need at the same time. One serves all of them: five hundred clones of a claim read it a few times. */
import type { Clock } from '@csi-sidecars/runtime';

export interface SharedRequests {
  /** The answer to the request of this name that was sent less than a second ago, unless it has failed; otherwise `send` is called. */
  get<T>(name: string, send: () => Promise<T>): Promise<T>;
}

/** A request without an answer keeps others waiting for no longer. */
const freshMs = 1_000;

export function createSharedRequests(clock: Pick<Clock, 'monotonicMs'>): SharedRequests {
  const sent = new Map<string, { readonly sentMs: number; readonly answer: Promise<unknown> }>();
  return {
    get: <T>(name: string, send: () => Promise<T>): Promise<T> => {
      const nowMs = clock.monotonicMs();
      const last = sent.get(name);
      // A name stands for one kind of request.
      if (last !== undefined && nowMs - last.sentMs < freshMs) return last.answer as Promise<T>;
      const request = { sentMs: nowMs, answer: send() };
      sent.set(name, request);
      request.answer.catch(() => {
        if (sent.get(name) === request) sent.delete(name);
      });
      return request.answer;
    },
  };
}
