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

/** With which failure the step ends when its signal aborts; undefined: it waits on. Rejects if it ends before that. */
export async function failureAtStop(step: (signal: AbortSignal) => unknown, clock: FakeClock): Promise<unknown> {
  const stop = new AbortController();
  const failures: unknown[] = [];
  void (async () => await step(stop.signal))().then(
    () => failures.push(new Error('the step ends without an answer')),
    (failure: unknown) => failures.push(failure),
  );
  await clock.advance(1_000);
  if (failures.length > 0) throw failures[0];
  stop.abort(new Error('stop at once'));
  await clock.advance(1_000);
  return failures[0];
}
