// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aVolume, driverName, storedDegraded } from '../testing/builders.ts';
import { watchedBy } from './watched.ts';

const { volumes, claims } = watchedBy({ driverName });
const stored = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: '7', labels: { a: 'b' }, annotations: { c: 'd' } },
});

it('given a volume of this driver, then identity, phase, deletion, handle and claim are kept', () => {
  expect(volumes.transform?.apply(stored(aVolume({ deleting: 'yes' })))).toEqual({
    metadata: { name: 'pv1', uid: 'uid-of-pv1', resourceVersion: '7', deletionTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      csi: { driver: driverName, volumeHandle: 'volume-1' },
      claimRef: { namespace: 'team', name: 'data', uid: 'uid-of-data' },
    },
    status: { phase: 'Bound' },
  });
});

it('given a bound claim, then identity, the name of its volume and its health are kept', () => {
  const metadata = { name: 'data', namespace: 'team', uid: 'uid-of-data', resourceVersion: '7' };
  const spec = { volumeName: 'pv1' };
  expect(claims.transform?.apply(stored(aClaim()))).toEqual({ metadata, spec });
  const claim = aClaim({ health: storedDegraded });
  const healthStatus = { healthConditions: storedDegraded, lastTransitionTime: '2025-12-31T00:00:00Z' };
  expect(claims.transform?.apply(stored(claim))).toEqual({ metadata, spec, status: { healthStatus } });
});

it('[health-monitor#61] given a volume of another driver and a claim without a volume, then nothing of them is kept', () => {
  const kept = [
    volumes.transform?.apply(aVolume({ driver: 'other.csi.example.com' })),
    volumes.transform?.apply({ ...aVolume(), spec: {} }),
    claims.transform?.apply(aClaim({ name: 'new', volumeName: '' })),
  ];
  expect(kept).toEqual([undefined, undefined, undefined]);
});
