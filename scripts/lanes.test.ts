// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
// @ts-expect-error: a script without types, because it runs before anything is installed.
import { runInLanes as untyped } from './lanes.mjs';

interface Suite {
  readonly name: string;
  readonly after?: readonly string[];
  readonly alone?: string;
  readonly waits?: true;
}
const runInLanes = untyped as (
  suites: readonly Suite[],
  lanes: number,
  run: (suite: Suite) => Promise<void>,
) => Promise<void>;

/** `+name` where a suite begins, `-name` where it ends. Those that run end in the order in which they began, one in each turn. */
async function play(suites: readonly Suite[], lanes = 2): Promise<string> {
  const log: string[] = [];
  await runInLanes(suites, lanes, async ({ name }) => {
    log.push(`+${name}`);
    await new Promise(setImmediate);
    log.push(`-${name}`);
  });
  return log.join(' ');
}

it('given more suites than lanes, then as many run side by side as there are lanes, in their order', async () => {
  expect(await play([{ name: 'a' }, { name: 'b' }, { name: 'c' }])).toBe('+a +b -a +c -b -c');
});

it('given a suite after others, then it begins when they have ended, and those behind it do not wait for it', async () => {
  const suites = [{ name: 'a' }, { name: 'b', after: ['a', 'd'] }, { name: 'c' }, { name: 'd' }];
  expect(await play(suites)).toBe('+a +c -a +d -c -d +b -b');
});

it('given a suite after one that is not part of the run, then it begins at once', async () => {
  expect(await play([{ name: 'b', after: ['a'] }])).toBe('+b -b');
});

it('given suites that are alone together, then they run beside each other, and no other suite runs beside them', async () => {
  const suites: readonly Suite[] = [
    { name: 'a', alone: 'x' },
    { name: 'b' },
    { name: 'c', alone: 'x' },
    { name: 'd', alone: 'y' },
  ];
  expect(await play(suites, 3)).toBe('+a +c -a -c +b -b +d -d');
});

it('given a suite that waits, then it takes no lane, and begins although all lanes are taken', async () => {
  const suites: readonly Suite[] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd', waits: true }];
  expect(await play(suites)).toBe('+a +b +d -a +c -b -d -c');
});

it('given suites that wait for each other, then the run fails and names them', async () => {
  const suites = [
    { name: 'a', after: ['b'] },
    { name: 'b', after: ['a'] },
  ];
  await expect(play(suites)).rejects.toThrow('these wait for each other: a, b');
});
