// SPDX-License-Identifier: Apache-2.0
/** What a claim names, and what is reported of it, with real caches and a fake API server in virtual time. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aBrokenPopulator,
  aClaim,
  aPopulator,
  claimOf,
  foreignKind,
  populatorType,
  validKind,
} from '../testing/builders.ts';
import { aValidator } from '../testing/validator-fixture.ts';
import { volumePopulators } from './populator.ts';

const snapshotKind = { group: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot' };

interface Verdicts {
  readonly given: string;
  readonly claim: ReturnType<typeof aClaim>;
  readonly populators?: readonly ReturnType<typeof aPopulator>[];
  readonly then: string;
}

const verdicts: readonly Verdicts[] = [
  { given: '[data-source-validator#1] given a claim without a source', claim: aClaim(), then: 'empty' },
  {
    given: '[data-source-validator#2] given a clone, and no populator at all',
    claim: aClaim({ kind: 'PersistentVolumeClaim' }),
    populators: [],
    then: 'pvc',
  },
  {
    given: '[data-source-validator#2] given a snapshot, and no populator at all',
    claim: claimOf(snapshotKind),
    populators: [],
    then: 'snapshot',
  },
  {
    given: '[data-source-validator#3] given a kind that a populator registers',
    claim: claimOf(validKind),
    then: 'populator',
  },
  {
    given: '[data-source-validator#4] given the registered kind in lower case',
    claim: claimOf({ ...validKind, kind: 'valid' }),
    then: 'invalid',
  },
  {
    given: '[data-source-validator#5] given the registered kind in another group',
    claim: claimOf({ ...validKind, group: 'example.com' }),
    then: 'invalid',
  },
  {
    given: '[data-source-validator#6] given a group snapshot',
    claim: claimOf({ group: 'groupsnapshot.storage.k8s.io', kind: 'VolumeGroupSnapshot' }),
    then: 'invalid',
  },
  {
    given: '[data-source-validator#6] given a group snapshot that a populator registers',
    claim: claimOf({ group: 'groupsnapshot.storage.k8s.io', kind: 'VolumeGroupSnapshot' }),
    populators: [aPopulator({ group: 'groupsnapshot.storage.k8s.io', kind: 'VolumeGroupSnapshot' })],
    then: 'populator',
  },
  {
    given: '[data-source-validator#7] given a Secret of the core group',
    claim: aClaim({ apiGroup: '', kind: 'Secret' }),
    then: 'invalid',
  },
  {
    given: '[data-source-validator#8] given an empty group, as if it were absent',
    claim: aClaim({ apiGroup: '', kind: 'PersistentVolumeClaim' }),
    then: 'pvc',
  },
  {
    given: '[data-source-validator#22] given a source in another namespace, whose kind is registered',
    claim: aClaim({ apiGroup: validKind.group, kind: validKind.kind, namespace: 'other' }),
    then: 'populator',
  },
  {
    given: '[data-source-validator#22] given a source in another namespace, whose kind is unknown',
    claim: aClaim({ apiGroup: foreignKind.group, kind: foreignKind.kind, namespace: 'other' }),
    then: 'invalid',
  },
  {
    given: '[data-source-validator#28] given a registered dataSourceRef and an unknown dataSource',
    claim: claimOf(validKind, {
      spec: {
        dataSource: { apiGroup: foreignKind.group, kind: foreignKind.kind, name: 'other' },
        dataSourceRef: { apiGroup: validKind.group, kind: validKind.kind, name: 'origin' },
      },
    }),
    then: 'populator',
  },
  {
    given:
      '[data-source-validator#28] given an unknown dataSource alone, which the API server copies into dataSourceRef',
    claim: aClaim(undefined, { spec: { dataSource: { apiGroup: 'example.com', kind: 'Foreign', name: 'other' } } }),
    then: 'invalid',
  },
  {
    given: '[data-source-validator#29] given a populator that registers PersistentVolumeClaim of the core group',
    claim: aClaim({ kind: 'PersistentVolumeClaim' }),
    populators: [aPopulator({ group: '', kind: 'PersistentVolumeClaim' })],
    then: 'pvc',
  },
];

describe('the verdict', () => {
  it.each(verdicts)(
    '$given, then $then is counted, and there is an event if that is invalid',
    async ({ claim, populators = [aPopulator()], then }) => {
      const it = await aValidator({ seed: [...populators, claim] });
      await it.pass(2_000);
      expect([it.counted(), it.warned()]).toEqual([{ [then]: 1 }, then === 'invalid' ? ['data x1'] : []]);
      expect(it.writes().filter((line) => !line.includes(' events '))).toEqual([]);
    },
  );

  it('[data-source-validator#11] given two populators of the kind, when one of them is deleted, then it is still registered', async () => {
    const it = await aValidator({ seed: [aPopulator(), aPopulator(validKind, 'other'), claimOf(validKind)] });
    await it.removePopulator('other');
    await it.pass(2_000);
    expect([Object.keys(it.counted()), it.warned()]).toEqual([['populator'], []]);
  });

  it.each([{}, { group: 'valid.storage.k8s.io' }, { group: 7, kind: ['Valid'] }, 'text', null])(
    '[data-source-validator#19] given a populator whose source kind is %j, then it is skipped with one line, and the other one counts',
    async (sourceKind) => {
      const it = await aValidator({ seed: [aBrokenPopulator(sourceKind), aPopulator(), claimOf(validKind)] });
      await it.pass(2_000);
      expect([it.counted(), it.warned()]).toEqual([{ populator: 1 }, []]);
      const skipped = it.logger.lines.filter(({ message }) => message.startsWith('Skipping a VolumePopulator'));
      expect(skipped.map(({ facts }) => facts)).toEqual([{ VolumePopulator: 'broken' }]);
    },
  );

  it('[data-source-validator#15] given a claim that is gone before a worker comes, then nothing is counted for it', async () => {
    const it = await aValidator({ seed: [claimOf(foreignKind)] });
    const before = it.counted();
    await it.removeClaim();
    await it.pass(2_000);
    expect([it.counted(), it.warned(), it.unknown()]).toEqual([before, [], 0]);
    expect(it.logger.lines.map(({ facts }) => facts['row'])).toContain('DV1');
  });

  it('[data-source-validator#30] given a watch that breaks, when a claim changes meanwhile, then it is looked at after the next list', async () => {
    const it = await aValidator({ seed: [aClaim()] });
    const lists = (): number =>
      it.server.requests.filter(({ resource }) => resource === 'persistentvolumeclaims').length;
    const before = lists();
    it.server.endWatches('broken');
    it.server.objects.change(persistentVolumeClaims, { namespace: 'team', name: 'data' }, ({ metadata }) => ({
      ...claimOf(foreignKind),
      ...(metadata && { metadata }),
    }));
    it.server.compact();
    await it.pass(60_000, 1_000);
    expect([it.counted(), it.warned()]).toEqual([{ empty: 1, invalid: 1 }, ['data x1']]);
    expect(lists() - before).toBeGreaterThan(1);
  });
});

it('given 1,000 changes of claims without a source in each second, then each is counted, and nothing is written', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `claim-${index}`);
  const it = await aValidator({ seed: names.map((name) => aClaim(undefined, { name })) });
  const before = it.server.requests.length;
  for (let second = 1; second <= 3; second += 1) {
    for (const name of names)
      it.server.objects.change(persistentVolumeClaims, { namespace: 'team', name }, (claim) => ({
        ...claim,
        metadata: { ...claim.metadata, labels: { second: String(second) } },
      }));
    await it.pass(1_000, 100);
  }
  expect([it.counted(), it.writes(), it.events()]).toEqual([{ empty: 4_000 }, [], []]);
  expect(it.server.requests.length - before).toBe(0);
}, 60_000);

describe('the registry', () => {
  it('[data-source-validator#17] given no definition of populators, then nothing is checked and one warning is logged; when it is installed, then checks begin', async () => {
    const it = await aValidator({ definition: 'missing', seed: [aClaim(), claimOf(foreignKind, { name: 'bad' })] });
    await it.pass(120_000, 1_000);
    expect([it.counted(), it.warned()]).toEqual([{}, []]);
    const warnings = it.logger.lines.filter(({ message }) =>
      message.startsWith('VolumePopulators could not be listed'),
    );
    expect(warnings.length).toBe(1);
    it.server.addTypes(populatorType);
    await it.pass(60_000, 1_000);
    expect([it.counted(), it.warned()]).toEqual([{ empty: 1, invalid: 1 }, ['bad x1']]);
  });

  it('[data-source-validator#17] given a definition that is there, then no warning is logged', async () => {
    const it = await aValidator({ seed: [aClaim()] });
    await it.pass(60_000, 1_000);
    expect(
      it.logger.lines.map(({ message }) => message).filter((text) => text.includes('could not be listed')),
    ).toEqual([]);
  });

  it('[data-source-validator#18] given a definition that is removed, then its kinds become unknown, and when it is back they are registered again', async () => {
    const it = await aValidator({ seed: [aPopulator(), claimOf(validKind)] });
    await it.removePopulator();
    it.server.removeTypes(volumePopulators);
    await it.pass(60_000, 1_000);
    expect(it.warned()).toEqual(['data x1']);
    it.server.addTypes(populatorType);
    await it.add(aPopulator());
    await it.pass(60_000, 1_000);
    expect(it.unknown()).toBe(0);
    await it.changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, labels: { a: 'b' } } }));
    await it.pass(2_000);
    expect(it.warned()).toEqual(['data x1']);
  });
});
