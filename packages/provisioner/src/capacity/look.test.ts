// SPDX-License-Identifier: Apache-2.0
/** The state of one item, from caches that the test fills. */
import type { CSIStorageCapacity, StorageClass } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aCapacity, aLateClass } from '../../testing/capacity-fixture.ts';
import { driverName } from '../../testing/builders.ts';
import { type Segments, segmentIdOf, toSegments } from '../topology/segments.ts';
import { toTerm } from '../topology/terms.ts';
import { itemKeyOf } from './items.ts';
import { type CapacityRun, look } from './steps.ts';

const zoneA = toTerm([['zone', 'a']]);
const key = itemKeyOf('fast', segmentIdOf(zoneA));
const target = { driverName, immediateBinding: false };

interface Given {
  readonly known?: Segments | undefined;
  readonly storageClass?: StorageClass;
  readonly objects?: readonly CSIStorageCapacity[];
}

function observed({ known, storageClass, objects = [] }: Given) {
  const caches = {
    classes: { get: (name: string) => (name === 'fast' ? storageClass : undefined) },
    objects: { byIndex: (index: string, item: string) => (index === 'item' && item === key ? objects : []) },
  } as unknown as CapacityRun['caches'];
  return look({ context: { target, segments: { current: () => known } }, caches, key });
}

it('given no pass over the nodes has ended, then the segments are not known', () => {
  expect(observed({ storageClass: aLateClass() })).toMatchObject({ knowsSegments: false, segment: undefined });
});

it('given the segment of the item, then it is found; given another one, then no node has it', () => {
  expect(observed({ known: toSegments([zoneA]) })).toMatchObject({ knowsSegments: true, segment: zoneA });
  expect(observed({ known: toSegments([]) })).toMatchObject({ knowsSegments: true, segment: undefined });
});

it.each([
  ['that binds late', aLateClass(), true],
  ['that binds immediately', aLateClass('fast', { volumeBindingMode: 'Immediate' }), false],
  ['of another driver', aLateClass('fast', { provisioner: 'other' }), false],
  ['that does not exist', undefined, false],
])('given a class %s, then it counts: %s', (_what, storageClass, doesCount) => {
  const found = observed({ known: toSegments([zoneA]), ...(storageClass === undefined ? {} : { storageClass }) });
  expect(found.storageClass).toEqual(doesCount ? storageClass : undefined);
});

it('given objects of one item in any order, then the oldest is the first, which is kept', () => {
  const [older, newer] = [
    aCapacity({ name: 'older', createdAt: '2025-01-01T00:00:00Z' }),
    aCapacity({ name: 'newer', createdAt: '2025-06-01T00:00:00Z' }),
  ];
  expect(observed({ objects: [newer, older] }).objects).toEqual([older, newer]);
  expect(observed({ objects: [older, newer] }).objects).toEqual([older, newer]);
});
