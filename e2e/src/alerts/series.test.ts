// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { readExposition } from '../scenarios/observability/exposition.ts';
import { lengthened, type Scrape, seriesOf, toInput } from './series.ts';

const scrape = (calls: number, depth: number): Scrape =>
  readExposition(
    `# TYPE calls counter\ncalls{code="OK",name="",pod="own"} ${calls}\n# TYPE depth gauge\ndepth ${depth}\n# TYPE other gauge\nother 1\n`,
  );
const recorded = {
  labels: { job: 'j', pod: 'p' },
  scrapes: [scrape(1, 5), scrape(3, 6), undefined, scrape(2, 7), scrape(4, 8)],
};
const metrics = new Set(['calls', 'depth']);

it('given scrapes of a target, then its series have the labels of both sides, gaps where it did not answer, and up beside them', () => {
  expect(seriesOf(recorded, metrics)).toEqual([
    {
      name: 'calls',
      labels: { code: 'OK', exported_pod: 'own', job: 'j', pod: 'p' },
      grows: true,
      values: [1, 3, undefined, 2, 4],
    },
    { name: 'depth', labels: recorded.labels, grows: false, values: [5, 6, undefined, 7, 8] },
    { name: 'up', labels: recorded.labels, grows: false, values: [1, 1, 0, 1, 1] },
  ]);
});

it('given a tail to repeat, then a gauge has the same values again, and a counter goes on by what it grew', () => {
  const [calls, depth] = seriesOf({ ...recorded, scrapes: [1, 2, 4, 7].map((each) => scrape(each, each)) }, metrics);
  const length = { samples: 9, tail: 2 };
  expect(lengthened(calls!, length)).toEqual([1, 2, 4, 7, 9, 12, 14, 17, 19]);
  expect(lengthened(depth!, length)).toEqual([1, 2, 4, 7, 4, 7, 4, 7, 4]);
});

it('given a counter whose process began again within the tail, then it never goes on below zero, and its resets stay', () => {
  const [calls] = seriesOf({ ...recorded, scrapes: [5, 9, 1, 2].map((each) => scrape(each, 0)) }, metrics);
  expect(lengthened(calls!, { samples: 7, tail: 3 })).toEqual([5, 9, 1, 2, 9, 1, 2]);
});

it('given a counter whose last sample is missing, then it goes on growing, and the gap comes back', () => {
  const scrapes = [scrape(1, 0), scrape(2, 0), scrape(4, 0), undefined];
  const [calls] = seriesOf({ ...recorded, scrapes }, metrics);
  expect(lengthened(calls!, { samples: 8, tail: 2 })).toEqual([1, 2, 4, undefined, 6, undefined, 8, undefined]);
});

it('given gaps, then the first sample of each is the marker of a stale series', () => {
  const [calls, depth] = seriesOf(recorded, metrics);
  expect(toInput(calls!, { samples: 6, tail: 1 })).toEqual({
    series: 'calls{code="OK",exported_pod="own",job="j",pod="p"}',
    values: '1 3 stale 2 4 6',
  });
  const gone = { ...depth!, values: [1, undefined, undefined] };
  expect(toInput(gone, { samples: 5, tail: 2 }).values).toBe('1 stale _ _ _');
});
