// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { add, countSpecs, skippedSpecs } from './specs.ts';

it('given a report, then specs are counted by their end, and a broken set-up is a failure', () => {
  const spec = (State: string, LeafNodeType = 'It'): object => ({ State, LeafNodeType });
  const report = JSON.stringify([
    {
      SpecReports: [spec('passed'), spec('passed', 'BeforeSuite'), spec('skipped'), spec('pending'), spec('panicked')],
    },
    { SpecReports: [spec('failed', 'AfterSuite')] },
    { SpecReports: null },
  ]);
  expect(countSpecs(report)).toEqual({ passed: 1, failed: 2, skipped: 2 });
  expect(add(countSpecs(report), { passed: 1, failed: 0, skipped: 0 })).toEqual({ passed: 2, failed: 2, skipped: 2 });
});

it('given specs that were not run, then each is named with its reason', () => {
  const skipped = {
    State: 'skipped',
    LeafNodeType: 'It',
    ContainerHierarchyTexts: ['Node Service', 'NodeGetVolumeStats'],
    LeafNodeText: 'should work',
    Failure: { Message: 'not supported' },
  };
  const pending = { State: 'pending', LeafNodeType: 'It', LeafNodeText: 'later' };
  expect(skippedSpecs(JSON.stringify([{ SpecReports: [skipped, pending] }]))).toEqual([
    'Node Service NodeGetVolumeStats should work: not supported',
    'later: pending',
  ]);
});
