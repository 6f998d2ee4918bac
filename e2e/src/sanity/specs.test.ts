// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { add, countSpecs, skippedSpecs } from './specs.ts';

it('given a report, then specs are counted by their end, a broken set-up is a failure, and a spec is skipped if no declared reason leaves it out', () => {
  const spec = (State: string, LeafNodeType = 'It'): object => ({ State, LeafNodeType });
  const unsupported = { ...spec('skipped'), Failure: { Message: 'NodeGetStorageHealth not supported' } };
  const report = JSON.stringify([
    {
      SpecReports: [
        spec('passed'),
        spec('passed', 'BeforeSuite'),
        spec('panicked'),
        spec('skipped'),
        spec('pending'),
        unsupported,
        spec('skipped', 'BeforeSuite'),
      ],
    },
    { SpecReports: [spec('failed', 'AfterSuite')] },
    { SpecReports: null },
  ]);
  const counts = { passed: 1, failed: 2, skipped: 1, notApplicable: 2 };
  expect(countSpecs(report)).toEqual(counts);
  const more = { passed: 1, failed: 0, skipped: 0, notApplicable: 3 };
  expect(add(counts, more)).toEqual({ passed: 2, failed: 2, skipped: 1, notApplicable: 5 });
});

it('given specs that were not run, then each is named with its reason, and whether that is declared', () => {
  const skipped = {
    State: 'skipped',
    LeafNodeType: 'It',
    ContainerHierarchyTexts: ['Node Service', 'NodeGetVolumeStats'],
    LeafNodeText: 'should work',
    Failure: { Message: 'not supported' },
  };
  const pending = { State: 'pending', LeafNodeType: 'It', LeafNodeText: 'later' };
  expect(skippedSpecs(JSON.stringify([{ SpecReports: [skipped, pending] }]))).toEqual([
    'skipped: Node Service NodeGetVolumeStats should work: not supported',
    'not applicable: later: pending',
  ]);
});
