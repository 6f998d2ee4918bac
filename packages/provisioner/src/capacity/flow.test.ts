// SPDX-License-Identifier: Apache-2.0
/** One line for each way through the capacity loop: what a run sees, what the driver reports, its steps, and how it ends. */
import type { CSIStorageCapacity } from '@csi-sidecars/runtime';
import { type Answers, walkFlow } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { driverName } from '../../testing/builders.ts';
import { aCapacity, aLateClass, anOwner, namespace, show as showObject } from '../../testing/capacity-fixture.ts';
import { toTerm } from '../topology/terms.ts';
import { publish } from './flow.ts';
import type { Observed } from './steps.ts';
import { centralManagedBy, type Management, type Reported } from './object.ts';

const management: Management = { driverName, managedBy: centralManagedBy, namespace, owner: undefined };
const tib = 1024n ** 4n;
const all: Reported = { available: tib, maximum: tib };
const half: Reported = { available: tib / 2n, maximum: undefined };
const failure = new Error('no');
const same = aCapacity();
const twin = aCapacity({ name: 'csisc-2' });
const leaving: CSIStorageCapacity = {
  ...twin,
  metadata: { ...twin.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
};

interface Given {
  readonly seen?: Partial<Observed>;
  /** What the run finds when it looks again. Default: as it was, without objects that it removed. */
  readonly now?: Partial<Observed>;
  readonly reports?: Reported | Error;
  readonly owner?: 'configured';
  readonly answers?: Answers;
}

async function walk({ seen, now, reports = all, owner, answers }: Given) {
  const observed: Observed = {
    className: 'fast',
    knowsSegments: true,
    segment: toTerm([['zone', 'a']]),
    storageClass: aLateClass('fast', { parameters: { kind: 'ssd' } }),
    objects: [],
    ...seen,
  };
  const managing = owner === undefined ? management : { ...management, owner: anOwner };
  const { said, steps, conclusion } = await walkFlow(publish(observed, managing), {
    ask: reports,
    look: { ...observed, ...now },
    remove: undefined,
    create: undefined,
    update: undefined,
    ...answers,
  });
  const written = [...said('create'), ...said('update')] as unknown as readonly (readonly [CSIStorageCapacity])[];
  return { said, steps, conclusion, written: written.map(([object]) => object) };
}

interface Row extends Given {
  readonly given: string;
  /** Without `K5 ask` and `K5 look`. */
  readonly steps: readonly string[];
  readonly ends: string;
}

const gone: Partial<Observed> = { storageClass: undefined };

it.each<Row>([
  { given: 'no pass yet', seen: { knowsSegments: false, objects: [same] }, steps: [], ends: 'K1 done' },
  {
    given: 'no such segment',
    seen: { segment: undefined, objects: [same, twin] },
    steps: ['K2 remove csisc-1 csisc-2'],
    ends: 'K3 done',
  },
  { given: 'no class', seen: { ...gone, objects: [same] }, steps: ['K2 remove csisc-1'], ends: 'K3 done' },
  { given: 'no class, no object', seen: gone, steps: [], ends: 'K3 done' },
  { given: 'no class, being deleted', seen: { ...gone, objects: [leaving] }, steps: [], ends: 'K3 done' },
  {
    given: 'no class, not removed',
    seen: { ...gone, objects: [same] },
    answers: { remove: failure },
    steps: ['K2 remove csisc-1'],
    ends: 'K3 retry: no',
  },
  {
    given: 'no class since the driver was asked',
    seen: { objects: [same] },
    now: gone,
    steps: ['K2 remove csisc-1'],
    ends: 'K3 done',
  },
  {
    given: 'no segment since the driver was asked',
    now: { segment: undefined },
    steps: [],
    ends: 'K3 done',
  },
  { given: 'no answer', seen: { objects: [same] }, reports: failure, steps: [], ends: 'K6 retry: no' },
  { given: 'two objects', seen: { objects: [same, twin] }, steps: ['K4 remove csisc-2'], ends: 'K8 done' },
  { given: 'an object and one that is being deleted', seen: { objects: [same, leaving] }, steps: [], ends: 'K8 done' },
  {
    given: 'a twin that stays',
    seen: { objects: [same, twin] },
    answers: { remove: failure },
    steps: ['K4 remove csisc-2'],
    ends: 'K10 retry: no',
  },
  {
    given: 'a twin that stays, and other sizes',
    seen: { objects: [same, twin] },
    reports: half,
    answers: { remove: failure },
    steps: ['K4 remove csisc-2', 'K9 update fast zone=a 512Gi'],
    ends: 'K10 retry: no',
  },
  { given: 'no object', steps: ['K7 create fast zone=a 1Ti max 1Ti'], ends: 'K8 done' },
  {
    given: 'no object, and it cannot be created',
    answers: { create: failure },
    steps: ['K7 create fast zone=a 1Ti max 1Ti'],
    ends: 'K10 retry: no',
  },
  { given: 'an object since the driver was asked', now: { objects: [same] }, steps: [], ends: 'K8 done' },
  { given: 'no maximum', reports: half, steps: ['K7 create fast zone=a 512Gi'], ends: 'K8 done' },
  {
    given: 'the empty segment',
    seen: { segment: [] },
    reports: half,
    steps: ['K7 create fast {} 512Gi'],
    ends: 'K8 done',
  },
  {
    given: 'no object, and an owner',
    owner: 'configured',
    reports: half,
    steps: ['K7 create fast zone=a 512Gi of driver'],
    ends: 'K8 done',
  },
  { given: 'the same sizes', seen: { objects: [same] }, steps: [], ends: 'K8 done' },
  {
    given: 'the same sizes in other words',
    seen: { objects: [aCapacity({ capacity: '1024Gi', maximum: '1099511627776' })] },
    steps: [],
    ends: 'K8 done',
  },
  {
    given: 'the same sizes and the owner',
    owner: 'configured',
    seen: { objects: [aCapacity({ owners: [anOwner] })] },
    steps: [],
    ends: 'K8 done',
  },
  {
    given: 'an owner that is not configured',
    seen: { objects: [aCapacity({ owners: [anOwner] })] },
    steps: [],
    ends: 'K8 done',
  },
  {
    given: 'other sizes',
    seen: { objects: [same] },
    reports: half,
    steps: ['K9 update fast zone=a 512Gi'],
    ends: 'K8 done',
  },
  {
    given: 'other sizes, and they cannot be written',
    seen: { objects: [same] },
    reports: half,
    answers: { update: failure },
    steps: ['K9 update fast zone=a 512Gi'],
    ends: 'K10 retry: no',
  },
  ...[
    { given: 'another maximum', object: aCapacity({ maximum: '1Gi' }) },
    { given: 'no capacity', object: aCapacity({ capacity: '' }) },
    { given: 'a capacity that is no quantity', object: aCapacity({ capacity: 'much' }) },
  ].map(({ given, object }) => ({
    given,
    seen: { objects: [object] },
    steps: ['K9 update fast zone=a 1Ti max 1Ti'],
    ends: 'K8 done',
  })),
  {
    given: 'no owner',
    owner: 'configured',
    seen: { objects: [same] },
    steps: ['K9 update fast zone=a 1Ti max 1Ti of driver'],
    ends: 'K8 done',
  },
  {
    given: 'another controller and another reference',
    owner: 'configured',
    seen: {
      objects: [
        aCapacity({
          owners: [
            { ...anOwner, name: 'old', uid: 'uid-of-old' },
            { ...anOwner, name: 'friend', uid: 'uid-of-friend', controller: false },
          ],
        }),
      ],
    },
    steps: ['K9 update fast zone=a 1Ti max 1Ti of friend and driver'],
    ends: 'K8 done',
  },
  {
    given: 'the owner, but not as the controller',
    owner: 'configured',
    seen: { objects: [aCapacity({ owners: [{ ...anOwner, controller: false }] })] },
    steps: ['K9 update fast zone=a 1Ti max 1Ti of driver'],
    ends: 'K8 done',
  },
])('given $given, then its steps are $steps, and it ends as $ends', async ({ steps, ends, ...given }) => {
  const walked = await walk(given);
  const { outcome, row } = walked.conclusion;
  const removed = walked.said('remove') as unknown as readonly (readonly [readonly CSIStorageCapacity[]])[];
  const details = [
    ...removed.map(([objects]) => objects.map(({ metadata }) => metadata?.name).join(' ')),
    ...walked.written.map(showObject),
  ];
  const changing = walked.steps.filter((step) => !step.startsWith('K5'));
  expect(changing.map((step, index) => `${step} ${details[index]}`)).toEqual(steps);
  expect(`${row} ${outcome.kind === 'retry' ? `retry: ${outcome.cause.message}` : outcome.kind}`).toBe(ends);
});

it.each([
  { given: 'a class with parameters', seen: {}, parameters: { kind: 'ssd' }, segments: { zone: 'a' } },
  { given: 'the empty segment', seen: { segment: [] }, parameters: { kind: 'ssd' }, segments: {} },
  {
    given: 'a class without parameters',
    seen: { storageClass: aLateClass() },
    parameters: {},
    segments: { zone: 'a' },
  },
])('given $given, then the driver is asked for it', async ({ seen, parameters, segments }) => {
  const { said } = await walk({ seen });
  expect(said('ask')).toEqual([[{ parameters, accessible_topology: { segments } }]]);
});

it('given an update, then everything else of the object stays, and the cached object is not changed', async () => {
  const object = aCapacity({ labels: { ...same.metadata?.labels, mine: 'x' } });
  const frozen = JSON.stringify(object);
  const { written } = await walk({ seen: { objects: [object] }, reports: half, owner: 'configured' });
  const metadata = { ...object.metadata, ownerReferences: [anOwner] };
  expect(written).toEqual([{ ...object, metadata, capacity: '512Gi', maximumVolumeSize: undefined }]);
  expect(JSON.stringify(object)).toBe(frozen);
});

it('given a new object, then it has both labels and a name of the server', async () => {
  const { written } = await walk({ reports: half });
  expect(written).toEqual([
    {
      metadata: {
        namespace,
        generateName: 'csisc-',
        labels: {
          'csi.storage.k8s.io/drivername': driverName,
          'csi.storage.k8s.io/managed-by': 'external-provisioner',
        },
      },
      storageClassName: 'fast',
      nodeTopology: { matchLabels: { zone: 'a' } },
      capacity: '512Gi',
    },
  ]);
});
