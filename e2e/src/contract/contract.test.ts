// SPDX-License-Identifier: Apache-2.0
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createApiClient, silentLogger } from '@csi-sidecars/runtime';
import { createFakeApiServer, FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { contract, prepareContract, runCheck, type ContractOptions } from './run-contract.ts';

describe('the API contract on the simulated API server', () => {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  const limits = { qps: -1, burst: 0, userAgent: 'contract' };
  const client = createApiClient({ transport: server.transport, clock, logger: silentLogger }, limits);
  const options: ContractOptions = {
    prefix: 'contract',
    pass: (ms) => clock.advance(ms),
    signal: new AbortController().signal,
  };
  let run: AsyncDisposable | undefined;
  beforeAll(async () => {
    run = await prepareContract(client, options);
  });
  afterAll(() => run?.[Symbol.asyncDispose]());

  it.each(contract.map((check) => [check.name, check] as const))('%s', async (_name, check) => {
    const result = await runCheck(client, check, options);
    if (result.kind === 'failed') throw result.error;
  });
});
