// SPDX-License-Identifier: Apache-2.0
/**
 * Logs that lists and watches get no answer: once for all informers of a process, after seconds, and then at a growing pace. The
 * informers try again by themselves, and each of them logs such an attempt at a higher level only, so without this a program whose
 * API server refuses connections would wait without a reason in its log.
 *
 * It looks at the time when an attempt fails and needs no timer: an informer waits for a minute at most between two attempts.
 */
import type { Clock } from '../clock/clock.ts';
import { type GrowingPace, growingPace } from '../clock/growing-pace.ts';
import type { Logger } from '../log/logger.ts';
import type { ApiClient } from './client.ts';
import { isTooManyRequests } from './error-predicates.ts';
import { TransportError } from './transport.ts';

export interface OutageLogDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Outage {
  readonly pace: GrowingPace;
  wasLogged: boolean;
}

const firstAfterMs = 5_000;
/** Next to the cause, which is that of the last attempt. */
const hint = 'Nothing works until the API server can be reached from this pod';

export function withOutageLog<C extends Pick<ApiClient, 'stream'>>({ clock, logger }: OutageLogDeps, client: C): C {
  let outage: Outage | undefined;

  function failed(error: unknown): void {
    outage ??= { pace: growingPace(clock, { firstMs: firstAfterMs }), wasLogged: false };
    if (!outage.pace.isDue()) return;
    outage.wasLogged = true;
    logger.error(error, 'Lists and watches of the API server fail', { forSeconds: outage.pace.forSeconds(), hint });
  }

  function answered(): void {
    if (outage === undefined) return;
    const { pace, wasLogged } = outage;
    if (wasLogged) logger.info(0, 'The API server answers again', { afterSeconds: pace.forSeconds() });
    outage = undefined;
  }

  return {
    ...client,
    stream: async (request, signal) => {
      try {
        const response = await client.stream(request, signal);
        answered();
        return response;
      } catch (error) {
        if (error instanceof TransportError || isTooManyRequests(error)) {
          if (!signal.aborted) failed(error);
        } else {
          answered();
        }
        throw error;
      }
    },
  };
}
