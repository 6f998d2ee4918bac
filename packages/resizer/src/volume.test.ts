// SPDX-License-Identifier: Apache-2.0
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, driverName } from '../testing/builders.ts';
import { toSize } from './size.ts';
import { capacityOfVolume, isBoundTo, mayExpand, preResizeCapacityOf } from './volume.ts';

it.each<{ readonly given: string; readonly volume: PersistentVolume }>([
  { given: 'no specification', volume: { metadata: { name: 'pv1' } } },
  { given: 'an empty specification', volume: { metadata: { name: 'pv1' }, spec: {} } },
])('given a PersistentVolume with $given, then it has no size, no driver and no claim', ({ volume }) => {
  const claim = aClaim();
  expect([
    capacityOfVolume(volume),
    preResizeCapacityOf(volume),
    mayExpand(claim, volume, driverName),
    isBoundTo(volume, claim),
  ]).toEqual([toSize(undefined), undefined, false, false]);
});
