// SPDX-License-Identifier: Apache-2.0
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { allScenarios } from '../scenarios/all.ts';
import type { Need } from '../scenarios/needs.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import type { TestRun } from '../scenarios/test-run.ts';
import type { Result } from './result.ts';
import { runScenarios } from './run-scenarios.ts';

/** Nothing but what it has: a scenario that is started fails. */
async function run(scenarios: readonly Scenario[], has: readonly Need[] = []): Promise<readonly Result[]> {
  const results: Result[] = [];
  const testRun = { has: new Set(has), clock: new FakeClock(), timeFactor: 1 } as unknown as TestRun;
  await runScenarios(testRun, {
    scenarios,
    concurrency: 2,
    asked: new Set(),
    onResult: (result) => void results.push(result),
    signal: new AbortController().signal,
  });
  return results;
}

it('[packaging#48] given a control plane without a scheduler, when scenarios with WaitForFirstConsumer are to run, then they are not applicable, and none has failed', async () => {
  const waiting = allScenarios.filter(({ title }) => title.includes('WaitForFirstConsumer'));
  expect(waiting.length).toBeGreaterThan(2);
  const others = new Set(allScenarios.flatMap(({ needs }) => needs).filter((need) => need !== 'scheduler'));
  const results = await run(waiting, [...others]);
  const lines = results.map(({ id, outcome }) => `${id} ${JSON.stringify(outcome)}`);
  const expected = waiting.map(({ id }) => `${id} {"kind":"not applicable","missing":["scheduler"]}`);
  expect(lines.toSorted()).toEqual(expected.toSorted());
});
