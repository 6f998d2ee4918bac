// SPDX-License-Identifier: Apache-2.0
/** Lets the check of rights know which requests of a controller were refused. */
import { type ApiClient, type Clock, isForbidden, type Logger } from '@csi-sidecars/runtime';
import { isReview } from './ask.ts';
import type { RightsCheck } from './check.ts';

/** A client that calls `refused` after each answer 403, but for those to the check itself. */
export function noticingRefusals(client: ApiClient, refused: () => void): ApiClient {
  const noticed = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      if (isForbidden(error)) refused();
      throw error;
    });
  return {
    get: (...call) => noticed(client.get(...call)),
    list: (...call) => noticed(client.list(...call)),
    create: (...call) => (isReview(call[0]) ? client.create(...call) : noticed(client.create(...call))),
    update: (...call) => noticed(client.update(...call)),
    patch: (...call) => noticed(client.patch(...call)),
    delete: (...call) => noticed(client.delete(...call)),
    raw: (...call) => noticed(client.raw(...call)),
    stream: (...call) => noticed(client.stream(...call)),
  };
}

const betweenLinesMs = 10 * 60_000;

/**
 * A log in which a refusal that comes from a missing right says so, and appears once in ten minutes for each resource: it repeats itself
 * for each object.
 */
export function markingMissing(log: Logger, check: Pick<RightsCheck, 'missingFor'>, clock: Clock): Logger {
  const dueMs = new Map<string, number>();
  const marking = (inner: Logger): Logger => ({
    enabled: (level) => inner.enabled(level),
    info: (...line) => inner.info(...line),
    warn: (...line) => inner.warn(...line),
    error: (error, message, facts) => {
      const resource = check.missingFor(error);
      if (resource === undefined) {
        inner.error(error, message, facts);
        return;
      }
      const nowMs = clock.monotonicMs();
      if (nowMs < (dueMs.get(resource) ?? -Infinity)) return;
      dueMs.set(resource, nowMs + betweenLinesMs);
      inner.error(error, message, { ...facts, right: 'missing' });
    },
    with: (facts) => marking(inner.with(facts)),
  });
  return marking(log);
}
