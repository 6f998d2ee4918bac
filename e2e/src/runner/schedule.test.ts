// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { allScenarios } from '../scenarios/all.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { checkDriverNames, mayRunBeside, runScheduled } from './schedule.ts';

const scenario = (id: string, more: Partial<Scenario> = {}): Scenario => ({
  id,
  title: id,
  needs: [],
  run: () => Promise.resolve(),
  ...more,
});

/** `+id` where a scenario begins, `-id` where it ends. All that run end in the order in which they began, one in each turn. */
async function play(scenarios: readonly Scenario[], concurrency = 8): Promise<string> {
  const log: string[] = [];
  const signal = new AbortController().signal;
  await runScheduled(scenarios, { concurrency, signal }, async ({ id }) => {
    log.push(`+${id}`);
    await new Promise(setImmediate);
    log.push(`-${id}`);
  });
  return log.join(' ');
}

it('given scenarios that share nothing, then as many run side by side as the concurrency allows', async () => {
  expect(
    await play(
      ['a', 'b', 'c'].map((id) => scenario(id)),
      2,
    ),
  ).toBe('+a +b -a +c -b -c');
});

it('given two scenarios with the same exclusive resource, then they run one after the other, and others beside them', async () => {
  const exclusive = ['snapshot-controller'] as const;
  const all = [scenario('a', { exclusive }), scenario('b', { exclusive }), scenario('c')];
  expect(await play(all)).toBe('+a +c -a +b -c -b');
});

it('given one scenario with an exclusive resource and two that share it, then those two run side by side, and the one runs alone', async () => {
  const shared = ['cores'] as const;
  const all = [scenario('a', { exclusive: ['cores'] }), scenario('b', { shared }), scenario('c', { shared })];
  expect(await play(all)).toBe('+a -a +b +c -b -c');
});

it('given scenarios with the API server for themselves, then each runs alone, before all others', async () => {
  const exclusive = ['api-server'] as const;
  const all = [scenario('a', { exclusive }), scenario('b'), scenario('c', { exclusive }), scenario('d')];
  expect(await play(all)).toBe('+a -a +c -c +b +d -b -d');
});

it('given exclusive resources, restarts and neither, then those with exclusive resources begin first, and then those with restarts', async () => {
  const all = [scenario('a'), scenario('b', { restarts: true }), scenario('c', { exclusive: ['fixed-ports'] })];
  expect(await play(all, 1)).toBe('+c -c +b -b +a -a');
});

it('given two scenarios that exclude each other, after one with a resource of its own, then the two begin first, one after the other', async () => {
  const chain = { exclusive: ['snapshot-controller'] } as const;
  const all = [scenario('a', { exclusive: ['fixed-ports'] }), scenario('b', chain), scenario('c', chain)];
  expect(await play(all, 1)).toBe('+b -b +c -c +a -a');
});

it('given a scenario with the kubelet for itself, then none with the need `kubelet` runs beside it', () => {
  const alone = scenario('a', { exclusive: ['kubelet'] });
  expect(mayRunBeside(alone, scenario('b', { needs: ['kubelet'] }))).toBe(false);
  expect(mayRunBeside(scenario('b', { needs: ['kubelet'] }), alone)).toBe(false);
  expect(mayRunBeside(alone, scenario('c', { needs: ['scheduler'] }))).toBe(true);
});

it('[packaging#50] given two scenarios with the same driver name, when they are to run, then the run is refused before anything has begun', async () => {
  const driverName = 'same.csi.test';
  const both = [scenario('P-91', { driverName }), scenario('P-92', { driverName, exclusive: ['cores'] })];
  const run = () => expect.unreachable('nothing has begun');
  const options = { concurrency: 2, signal: new AbortController().signal };
  await expect(runScheduled([...both, scenario('P-93')], options, run)).rejects.toThrow(
    'scenarios P-91 and P-92 have the same driver name same.csi.test',
  );
  const twice = [scenario('P-91'), scenario('p-91')];
  await expect(runScheduled(twice, options, run)).rejects.toThrow(
    'scenarios P-91 and p-91 have the same driver name p-91.e2e.csi.test',
  );
});

it('given scenarios with the same driver name that a resource keeps apart, then they run one after the other', async () => {
  const same = { driverName: 'same.csi.test', exclusive: ['cores'] } as const;
  expect(await play([scenario('a', same), scenario('b', same)])).toBe('+a -a +b -b');
});

it('given all scenarios, then no two that run side by side have the same driver name', () => {
  expect(() => checkDriverNames(allScenarios)).not.toThrow();
});

it('given an interrupt, then those that run are waited for, and no other begins', async () => {
  const interrupt = new AbortController();
  const began: string[] = [];
  await runScheduled([scenario('a'), scenario('b')], { concurrency: 1, signal: interrupt.signal }, async ({ id }) => {
    began.push(id);
    interrupt.abort();
    await new Promise(setImmediate);
    began.push(`${id} ended`);
  });
  expect(began).toEqual(['a', 'a ended']);
});
