// SPDX-License-Identifier: Apache-2.0
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { startSim } from '@csi-sidecars/sim';
import { contract, prepareContract, runCheck, type ContractOptions } from './run-contract.ts';

describe('the API contract on the simulated API server', () => {
  const clock = new FakeClock();
  const sim = startSim({ clock, random: seededRandom(1) });
  const { client } = sim;
  const options: ContractOptions = {
    prefix: 'contract',
    has: new Set(),
    pass: (ms) => clock.advance(ms),
    signal: new AbortController().signal,
  };
  let run: AsyncDisposable | undefined;
  beforeAll(async () => {
    run = await prepareContract(client, options);
  });
  afterAll(async () => {
    await run?.[Symbol.asyncDispose]();
    await sim.stop();
  });

  const [general, special] = [
    contract.filter(({ needs }) => needs === undefined),
    contract.filter(({ needs }) => needs),
  ];

  it.each(general.map((check) => [check.name, check] as const))('%s', async (_name, check) => {
    const result = await runCheck(client, check, options);
    if (result.kind === 'failed') throw result.error;
  });

  it('given the rules of schemas and CEL, then it reports that it does not check them', async () => {
    for (const check of special) {
      expect(await runCheck(client, check, options)).toEqual({
        kind: 'not applicable',
        name: check.name,
        missing: ['admission'],
      });
    }
    expect(special.length).toBeGreaterThan(36);
  });
});
