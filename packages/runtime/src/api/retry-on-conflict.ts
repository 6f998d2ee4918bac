// SPDX-License-Identifier: Apache-2.0
/** The one retry of writes that lost a race. */
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { ApiClient, CallOptions, ObjectRef } from './client.ts';
import { isConflict } from './error-predicates.ts';
import type { KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';
import { toError } from './errors.ts';
import type { WrittenCache } from './write-object.ts';

export interface ConflictRetryDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export interface ConflictRetry {
  /** Default 5, as client-go's retry.DefaultRetry. */
  readonly attempts?: number;
  /** The pause between two of them; default 10, as there. */
  readonly delayMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `write` again when it lost a race, a few times in quick succession; the last conflict is thrown when the attempts
 * run out. After a conflict `write` must read the object from the API (not from a cache), or it loses the same race again.
 */
export async function retryOnConflict<T>(
  { clock, random }: ConflictRetryDeps,
  write: () => Promise<T>,
  { attempts = 5, delayMs = 10, signal }: ConflictRetry = {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isConflict(error) || attempt >= attempts) throw error;
    }
    if (delayMs > 0) await clock.sleep(delayMs * (1 + jitter * random.next()), signal);
  }
}

const jitter = 0.1;

export interface RereadDeps<T extends KubeObject> extends ConflictRetryDeps {
  readonly client: Pick<ApiClient, 'get'>;
  /** Where the object is read from. Default: it is in no cache. */
  readonly cache?: Pick<WrittenCache<T>, 'remember'>;
}

export interface GuardedWrite<T extends KubeObject, R> extends Omit<ConflictRetry, 'signal'> {
  readonly resource: Resource<T>;
  /** However old. */
  readonly object: T;
  /** Writes the object if it is still `known`: `object`, after each conflict what the API server has then. */
  readonly write: (known: T) => Promise<R>;
  /** The object is gone, and another one has its name. Default: the conflict is thrown. */
  readonly replaced?: () => R;
}

/** As `retryOnConflict`, and reads the object again after each conflict. Rejects with NotFound when it is gone then. */
export async function rereadOnConflict<T extends KubeObject, R>(
  { client, cache, ...deps }: RereadDeps<T>,
  { resource, object, write, replaced, ...retry }: GuardedWrite<T, R>,
  options: CallOptions = {},
): Promise<R> {
  let known = object;
  let lost: Error | undefined;
  const attempt = async (): Promise<R> => {
    if (lost !== undefined) {
      known = await client.get(resource, refOf(object), options);
      if (known.metadata?.uid !== object.metadata?.uid) {
        if (replaced === undefined) throw new Replaced(lost);
        return replaced();
      }
      cache?.remember(known);
    }
    try {
      return await write(known);
    } catch (error) {
      // Only a conflict is followed by another try.
      lost = toError(error);
      throw error;
    }
  };
  try {
    return await retryOnConflict(deps, attempt, { ...retry, signal: options.signal });
  } catch (error) {
    throw error instanceof Replaced ? error.conflict : error;
  }
}

export function refOf({ metadata }: KubeObject): ObjectRef {
  return { namespace: metadata?.namespace, name: metadata?.name ?? '' };
}

/** Ends the retries: the object that was to be written is gone, and another one has its name. */
class Replaced extends Error {
  readonly conflict: Error;
  constructor(conflict: Error) {
    super();
    this.conflict = conflict;
  }
}
