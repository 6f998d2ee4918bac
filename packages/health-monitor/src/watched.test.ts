// SPDX-License-Identifier: Apache-2.0
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  createApiClient,
  createInformerFactory,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  silentLogger,
} from '@csi-sidecars/runtime';
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

/** A lister that shows these volumes, and what is kept of a claim beside them. */
function keepBeside(...shown: readonly PersistentVolume[]) {
  const stored = new Map(shown.map((volume) => [keyOf(volume), volumes.transform?.apply(volume)]));
  const lister = { get: (key: ObjectKey) => stored.get(key) };
  const { keep } = claims.dependsOn!(() => ({ lister }) as never);
  return (claim: PersistentVolumeClaim) => keep(claims.transform!.apply(claim)!);
}

it.each([
  ['its volume', aClaim()],
  ['its volume, and with health', aClaim({ health: storedDegraded })],
  ['a volume that names an earlier claim of its name', aClaim({ uid: 'another' })],
])('given a claim beside %s, then it is kept as its transform has left it', (_, claim) => {
  expect(keepBeside(aVolume())(stored(claim))).toEqual(claims.transform?.apply(stored(claim)));
});

it('given claims beside their volumes, then names and uids are in memory once', () => {
  const count = 5_000;
  const name = (n: number): string => `${n}`.padEnd(64, 'x');
  const facts = Array.from({ length: count }, (_, n) => ({ name: `data-${name(n)}`, volumeName: `pv-${name(n)}` }));
  const texts = facts.map((each) => JSON.stringify(aClaim(each)));
  const keep = keepBeside(...facts.map((each) => aVolume({ name: each.volumeName, claim: { name: each.name } })));
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const usedHeap = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  // As from the API server, each has strings of its own.
  const read = () => texts.map((text) => keep(JSON.parse(text) as PersistentVolumeClaim));
  const first = read();
  const before = usedHeap();
  const second = read();
  const bytes = (usedHeap() - before) / count;
  expect(second).toEqual(first);
  expect(bytes).toBeLessThan(300);
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
