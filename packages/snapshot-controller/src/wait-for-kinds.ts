// SPDX-License-Identifier: Apache-2.0
/** Waits until the API server serves kinds that are defined by others. */
import { type ApiClient, type Clock, type Logger, type Resource, toError } from '@csi-sidecars/runtime';

export interface WaitDeps {
  readonly client: Pick<ApiClient, 'list'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface WaitOptions {
  /** All of them are asked for in each attempt. */
  readonly kinds: readonly Resource[];
  readonly withinMs: number;
}

const [firstDelayMs, factor] = [100, 1.5];
/** With less time the last attempt would end with its own limit, and hide why the API server could not be asked. */
const shortestAttemptMs = 1_000;

/** Resolves with the last failure when the time is over: any failure counts, a missing right too. Undefined: all are served. */
export async function waitForKinds(
  { client, clock, log }: WaitDeps,
  { kinds, withinMs }: WaitOptions,
  signal: AbortSignal,
): Promise<Error | undefined> {
  const endMs = clock.monotonicMs() + withinMs;
  for (let delayMs = firstDelayMs; ; delayMs *= factor) {
    const leftMs = Math.max(endMs - clock.monotonicMs(), shortestAttemptMs);
    const failure = await firstFailure({ client, log }, kinds, { timeoutMs: leftMs, signal });
    const nextMs = endMs - clock.monotonicMs();
    if (failure === undefined || nextMs <= 0) return failure;
    await clock.sleep(Math.min(delayMs, nextMs), signal);
  }
}

async function firstFailure(
  { client, log }: Pick<WaitDeps, 'client' | 'log'>,
  kinds: readonly Resource[],
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Error | undefined> {
  for (const resource of kinds) {
    try {
      await client.list(resource, { limit: 1 }, options);
    } catch (error) {
      options.signal.throwIfAborted();
      log.error(error, `Failed to list ${resource.version} ${resource.plural}`);
      return toError(error);
    }
  }
  return undefined;
}
