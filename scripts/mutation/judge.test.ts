// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { jobFor, type Reach } from './judge.ts';

const costs = {
  '/r/packages/a/src/room/plan.test.ts': 2_000,
  '/r/packages/a/src/room/flow.test.ts': 900,
  '/r/packages/a/src/room/stories.test.ts': 5_000,
  '/r/packages/a/src/cheap.test.ts': 10,
  '/r/packages/a/src/outages.test.ts': 9_000,
};

it.each([
  { care: 'quick', files: ['plan', 'cheap', 'flow'] },
  { care: 'full', files: ['plan', 'flow', 'stories', 'cheap'] },
] as const)(
  'given a $care run, then the tests of $files judge a mutant: those of its file first, dear ones only if they are near and there is time',
  ({ care, files }) => {
    const tests = Object.entries(costs).map(([file, ms]) => ({ file, id: '1', ms }));
    const ranks = new Map(Object.keys(costs).map((file) => [file, 0]));
    const reach: Reach = { ranks, care, tests: new Map([[1, tests]]), loads: new Map() };
    const job = jobFor(1, 'packages/a/src/room/plan.ts', reach);
    expect(job?.runs.map(({ file }) => /(\w+)\.test\.ts$/.exec(file)?.[1])).toEqual(files);
  },
);
