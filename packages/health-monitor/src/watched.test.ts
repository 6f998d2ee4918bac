// SPDX-License-Identifier: Apache-2.0
import { createApiClient, createInformerFactory, type KubeObject, silentLogger } from '@csi-sidecars/runtime';
import { createFakeApiServer, FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aClaim, aPair, aVolume, driverName, storedDegraded } from '../testing/builders.ts';
import { watchedBy } from './watched.ts';

const { volumes, claims } = watchedBy({ driverName });
const stored = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: '7', labels: { a: 'b' }, annotations: { c: 'd' } },
});

it('given a volume of this driver, then identity, phase, deletion, handle and claim are kept', () => {
  expect(volumes.transform?.apply(stored(aVolume({ deleting: 'yes' })))).toEqual({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
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
  const type = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
  expect(claims.transform?.apply(stored(aClaim()))).toEqual({ ...type, metadata, spec });
  const claim = aClaim({ health: storedDegraded });
  const healthStatus = { healthConditions: storedDegraded, lastTransitionTime: '2025-12-31T00:00:00Z' };
  expect(claims.transform?.apply(stored(claim))).toEqual({ ...type, metadata, spec, status: { healthStatus } });
});

it('[health-monitor#61] given a volume of another driver and a claim without a volume, then nothing of them is kept', () => {
  const kept = [
    volumes.transform?.apply(aVolume({ driver: 'other.csi.example.com' })),
    volumes.transform?.apply({ ...aVolume(), spec: {} }),
    claims.transform?.apply(aClaim({ name: 'new', volumeName: '' })),
  ];
  expect(kept).toEqual([undefined, undefined, undefined]);
});

it('[health-monitor#61] given claims of other drivers, then none is kept, nor one whose volume is gone, but those that have health', async () => {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const server = createFakeApiServer({ clock, random });
  const client = createApiClient(
    { transport: server.transport, clock, logger: silentLogger },
    { userAgent: 'test', qps: -1, burst: 1 },
  );
  const foreign = Array.from({ length: 100 }, (_, n) => {
    const volumeName = `pv${n + 100}`;
    return [aVolume({ name: volumeName, driver: 'other.csi.example.com' }), aClaim({ volumeName })];
  }).flat();
  const withoutVolume = [aClaim({ volumeName: 'pv4' }), aClaim({ volumeName: 'pv5', health: storedDegraded })];
  for (const object of [...foreign, ...aPair(2), ...withoutVolume]) server.seed(object);
  const informers = createInformerFactory({ client, clock, random, logger: silentLogger });
  // Claims are asked for first, and still wait for the volumes.
  const kept = informers.informer(claims).lister;
  const stop = new AbortController();
  const running = informers.start(stop.signal);
  expect(await informers.waitForSync(stop.signal)).toBe(true);
  const names = () => kept.list().map(({ metadata }) => metadata?.name);
  expect(names()).toEqual(['data-2', 'data-5']);
  for (const object of [...aPair(3), aClaim({ volumeName: 'pv300' })]) server.seed(object);
  await clock.advance(0);
  expect(names()).toEqual(['data-2', 'data-5', 'data-3']);
  stop.abort();
  await running;
});
