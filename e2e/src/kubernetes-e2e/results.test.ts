// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { parseOptions } from './options.ts';
import { countsOf, differences, type GinkgoReport, type Outcome, resultsIn, withLaterRun } from './results.ts';

const spec = (
  name: string,
  State: string,
  Message?: string,
): NonNullable<GinkgoReport[number]['SpecReports']>[number] => ({
  ContainerHierarchyTexts: ['External Storage', 'volumes'],
  LeafNodeType: 'It',
  LeafNodeText: name,
  State,
  RunTime: 1_540_000_000,
  ...(Message !== undefined && { Failure: { Message } }),
});
const result = (name: string, outcome: Outcome, failures: readonly string[] = []) => ({
  name,
  outcome,
  seconds: 1.5,
  failures,
});
const full = (name: string): string => `External Storage volumes ${name}`;

it('given a report of ginkgo, then tests have outcomes, and what was filtered out is not in them', () => {
  const report: GinkgoReport = [
    {
      SpecReports: [
        spec('stores', 'passed'),
        spec('grows', 'failed', 'no space'),
        spec('hangs', 'interrupted'),
        spec('limits', 'skipped', 'Driver does not support volumeLimits'),
        spec('of another driver', 'skipped'),
        spec('of next year', 'pending'),
      ],
    },
  ];
  expect(resultsIn(report)).toEqual([
    result(full('stores'), 'passed'),
    result(full('grows'), 'failed', ['no space']),
    result(full('hangs'), 'failed', ['interrupted']),
    result(full('limits'), 'skipped'),
  ]);
});

it('given a set-up of the suite that failed, then it is a result, and one that passed is none', () => {
  const setUp = (State: string) => ({ LeafNodeType: 'SynchronizedBeforeSuite', LeafNodeText: '', State, RunTime: 0 });
  const failure = { ...setUp('failed'), Failure: { Message: 'no nodes' } };
  expect(resultsIn([{ SpecReports: [setUp('passed'), failure] }, { SpecReports: null }])).toEqual([
    { name: 'SynchronizedBeforeSuite', outcome: 'failed', seconds: 0, failures: ['no nodes'] },
  ]);
});

it('given tests that failed and ran again, then one that passed in a later run is flaky, and the others keep all their failures', () => {
  const first = [result('a', 'failed', ['1']), result('b', 'failed', ['1']), result('c', 'passed')];
  const second = withLaterRun(first, [result('a', 'passed'), result('b', 'failed', ['2'])]);
  const third = withLaterRun(second, [result('a', 'failed', ['3']), result('b', 'failed', ['3'])]);
  expect(third).toEqual([
    result('a', 'flaky', ['1', '3']),
    result('b', 'failed', ['1', '2', '3']),
    result('c', 'passed'),
  ]);
  expect(countsOf(third)).toEqual({ passed: 1, flaky: 1, failed: 1, skipped: 0 });
});

it('given the results of two runs, then the tests that ended differently are listed by name', () => {
  const ours = [result('b', 'passed'), result('a', 'failed', ['1']), result('c', 'skipped')];
  const theirs = [result('a', 'passed'), result('b', 'passed'), result('d', 'skipped')];
  expect(differences(ours, theirs)).toEqual(['failed -> passed: a', 'skipped -> not run: c', 'not run -> skipped: d']);
});

it('given the command line, then it names a set of tests or two reports', () => {
  const run = { kind: 'run', set: 'base', only: '', workers: 3, systemChanges: 'refused' };
  expect(parseOptions([])).toEqual(run);
  expect(parseOptions(['--slow', '--only=volumes', '--workers=1', '--allow-system-changes'])).toEqual({
    ...run,
    set: 'slow',
    only: 'volumes',
    workers: 1,
    systemChanges: 'allowed',
  });
  expect(parseOptions(['--compare=a,b'])).toEqual({ kind: 'compare', reports: ['a', 'b'] });
  expect(() => parseOptions(['--compare=a'])).toThrow('not two reports');
  expect(() => parseOptions(['--workers=none'])).toThrow('not a count');
});
