// SPDX-License-Identifier: Apache-2.0
/**
 * Who we are to the API server: the Authorization header of every request, read again as tokens rotate.
 *
 * Guarantees: any number of concurrent requests cause one read; a failed read keeps the last good token; the token occurs
 * in no error and no log line.
 */
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import { type Transport, TransportError, type TransportRequest } from './transport.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface Credentials {
  /** The value of the header. A promise while it is being read; rejects with a TransportError if there is none. */
  readonly authorization: () => string | Promise<string>;
  /** The server refused what it got: read again, unless that has been done since `sentMs` (monotonic). */
  readonly refused: (sentMs: number) => void;
}

/** A token is trusted for a minute, less ten seconds so that it does not expire on its way. */
const freshForMs = 50_000;
/** After a failed read the old token serves this long before the next try. */
const retryAfterMs = 10_000;

export interface CachedCredentialsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gets the header's value. `refused`: what was got last does not work, so do not answer from a cache. */
  readonly read: (why: 'due' | 'refused') => Promise<string>;
}

export function cachedCredentials({ clock, logger, read }: CachedCredentialsDeps): Credentials {
  let value: string | undefined;
  let readMs = -Infinity;
  let dueMs = -Infinity;
  let why: 'due' | 'refused' = 'due';
  let reading: Promise<string> | undefined;

  const renew = async (): Promise<string> => {
    const startedMs = clock.monotonicMs();
    try {
      value = await read(why);
      readMs = startedMs;
      dueMs = startedMs + freshForMs;
      why = 'due';
    } catch (error) {
      if (value === undefined) {
        throw new TransportError('credentials', error instanceof Error ? error.message : String(error), {
          cause: error,
        });
      }
      logger.error(error, 'Unable to rotate token');
      dueMs = startedMs + retryAfterMs;
    }
    return value;
  };
  return {
    authorization: () => {
      if (value !== undefined && clock.monotonicMs() < dueMs) return value;
      reading ??= renew().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    refused: (sentMs) => {
      if (readMs >= sentMs) return;
      dueMs = -Infinity;
      why = 'refused';
    },
  };
}

/**
 * A transport that sends the credentials with every request that does not bring its own. A request that is refused is sent
 * once more if the credentials have changed meanwhile: what the server refuses it has not processed.
 */
export function authenticated(transport: Transport, credentials: Credentials, clock: Clock): Transport {
  return async (request) => {
    if (request.headers['authorization'] !== undefined) return transport(request);
    const sentMs = clock.monotonicMs();
    const first = await header(credentials, request);
    const response = await transport(withAuthorization(request, first));
    if (response.status !== 401) return response;
    credentials.refused(sentMs);
    const second = await header(credentials, request);
    if (second === first) return response;
    await response.body[Symbol.asyncIterator]().return?.();
    return transport(withAuthorization(request, second));
  };
}

function header(credentials: Credentials, { signal }: TransportRequest): string | Promise<string> {
  const found = credentials.authorization();
  return typeof found === 'string' ? found : unlessAborted(found, signal);
}

function withAuthorization(request: TransportRequest, authorization: string): TransportRequest {
  return { ...request, headers: { ...request.headers, authorization } };
}
