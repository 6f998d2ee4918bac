// SPDX-License-Identifier: Apache-2.0
/** A step of a loop that nothing answers, in a process that has to stop. */
import type { ApiClient } from '../src/api/client.ts';
import { createApiClient } from '../src/api/create-client.ts';
import { silentLogger } from '../src/log/logger.ts';
import type { FakeClock } from './fake-clock.ts';
import { scriptedTransport, type SentRequest } from './scripted-transport.ts';

export interface SilentApi {
  /** Its requests get no answer before they are cancelled. */
  readonly client: ApiClient;
  readonly requests: readonly SentRequest[];
}

export function silentApi(clock: FakeClock): SilentApi {
  const { transport, requests } = scriptedTransport('hang');
  const client = createApiClient({ transport, clock, logger: silentLogger }, { userAgent: 'test', qps: -1, burst: 0 });
  return { client, requests };
}

/** What the step has learned when its signal has aborted; undefined: it waits on. Rejects if it learns something before that. */
export async function learnedAtStop<Learned extends object>(
  step: (signal: AbortSignal) => Learned | Promise<Learned>,
  clock: FakeClock,
): Promise<Learned | undefined> {
  const stop = new AbortController();
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  const running = (async () => await step(stop.signal))();
  running.then(end, end);
  await clock.advance(1_000);
  if (hasEnded) throw new Error(`learned without an answer: ${Object.keys(await running).join()}`);
  stop.abort(new Error('stop at once'));
  await clock.advance(1_000);
  return hasEnded ? await running : undefined;
}
