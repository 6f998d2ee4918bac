// SPDX-License-Identifier: Apache-2.0
/**
 * How requests are authenticated to the API server: the Authorization header of every request, or the certificate of a
 * connection that comes with it, read again as they rotate.
 *
 * Guarantees: any number of concurrent requests cause one read; a failed read keeps the last good token; the token occurs
 * in no error and no log line.
 */
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import { type Transport, TransportError, type TransportRequest, unlessAborted } from './transport.ts';

export interface Credential {
  /** The value of the Authorization header, if there is one. */
  readonly authorization?: string | undefined;
  /** The client certificate, if an exec plugin printed one. The TLS source reads it. */
  readonly identity?: Identity | undefined;
}

/** A certificate and its key, as PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export function isSameCredential(one: Credential, other: Credential): boolean {
  return (
    one.authorization === other.authorization &&
    one.identity?.cert === other.identity?.cert &&
    one.identity?.key === other.identity?.key
  );
}

export interface Credentials {
  /** A promise while it is being read; rejects with a TransportError if there is none. */
  readonly current: () => Credential | Promise<Credential>;
  /** Called when the server refuses the credentials: reads them again, unless they were read after `sentMs` (monotonic). */
  readonly refused: (sentMs: number) => void;
}

/** A token is trusted for a minute, less ten seconds so that it does not expire on its way. */
const tokenFreshForMs = 50_000;
/** After a failed read the old token is used for this long before the next read. */
const retryAfterMs = 10_000;

export interface CachedCredentialsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * `refused`: the server refused the last credentials, so a cache must not answer. To return the same object as last time
   * means that nothing was read.
   */
  readonly read: (why: 'due' | 'refused') => Promise<Credential>;
  /** The time before `read` is called again; 0: it is called for each request. Default: as long as a token from a file. */
  readonly freshForMs?: number;
}

export function cachedCredentials(deps: CachedCredentialsDeps): Credentials {
  const { clock, logger, read, freshForMs = tokenFreshForMs } = deps;
  let value: Credential | undefined;
  let readMs = -Infinity;
  let dueMs = -Infinity;
  /** Refusals so far, and how many of them have been acted upon. */
  let refusals = 0;
  let answered = 0;
  let reading: Promise<Credential> | undefined;

  const renew = async (): Promise<Credential> => {
    const startedMs = clock.monotonicMs();
    const seen = refusals;
    try {
      const found = await read(seen > answered ? 'refused' : 'due');
      // A refusal during a read that finds new credentials was about the old ones.
      answered = found === value ? seen : refusals;
      if (found !== value) readMs = startedMs;
      value = found;
      dueMs = startedMs + freshForMs;
    } catch (error) {
      if (value === undefined) {
        throw new TransportError('credentials', error instanceof Error ? error.message : String(error), {
          cause: error,
        });
      }
      logger.error(error, 'Unable to rotate token');
      dueMs = startedMs + retryAfterMs;
      return value;
    }
    // A refusal during a read that finds the same credentials: the waiting requests need other ones.
    return refusals > answered ? renew() : value;
  };
  return {
    current: () => {
      if (value !== undefined && clock.monotonicMs() < dueMs) return value;
      reading ??= renew().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    refused: (sentMs) => {
      if (readMs >= sentMs) return;
      dueMs = -Infinity;
      refusals += 1;
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
    const found = current(credentials, request);
    const first = found instanceof Promise ? await found : found;
    const response = await transport(withCredential(request, first));
    if (response.status !== 401) return response;
    credentials.refused(sentMs);
    const second = await current(credentials, request);
    if (isSameCredential(second, first)) return response;
    await response.body[Symbol.asyncIterator]().return?.();
    return transport(withCredential(request, second));
  };
}

function current(credentials: Credentials, { signal }: TransportRequest): Credential | Promise<Credential> {
  const found = credentials.current();
  return found instanceof Promise ? unlessAborted(found, signal) : found;
}

function withCredential(request: TransportRequest, { authorization }: Credential): TransportRequest {
  return authorization === undefined ? request : { ...request, headers: { ...request.headers, authorization } };
}
