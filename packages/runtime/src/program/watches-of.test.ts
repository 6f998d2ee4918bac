// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, seededRandom } from '../../testing/index.ts';
import type { ApiClient } from '../api/client.ts';
import { persistentVolumeClaims, persistentVolumes } from '../api/resource.ts';
import { toObjectKey } from '../informer/key.ts';
import { silentLogger } from '../log/logger.ts';
import { noMetrics } from '../metrics/metrics.ts';
import { watchesOf } from './watches-of.ts';
import type { LeadingPorts } from './with-caches.ts';

const own = { client: {} as ApiClient, clock: new FakeClock(), random: seededRandom(1) };
const controller = { run: () => Promise.resolve() };
const { signal } = new AbortController();

it('given a controller that asks for caches while it is assembled, then they are known, in order', () => {
  const asked = [{ resource: persistentVolumes }, { resource: persistentVolumeClaims, resyncMs: 5 }];
  const watches = watchesOf(own, ({ informers }) => {
    for (const options of asked) informers.informer(options);
    return controller;
  });
  expect(watches).toEqual(asked);
});

it('given a controller that looks at its ports while it is assembled, then they are silent, and its caches are empty and never synced', async () => {
  let seen: LeadingPorts | undefined;
  watchesOf(own, (ports) => {
    seen = ports;
    return controller;
  });
  const { informers, queueMetrics, recorderOf, ...ports } = seen!;
  expect(ports).toEqual({ ...own, logger: silentLogger, metrics: noMetrics });
  expect(() => queueMetrics.forQueue('labels')).not.toThrow();
  expect(() => recorderOf({ component: 'labels' })).not.toThrow();

  const informer = informers.informer({ resource: persistentVolumes });
  const { lister, doubted } = informer;
  const key = toObjectKey(undefined, 'a');
  expect([lister.get(key), lister.list(), lister.byIndex('class', 'gold'), lister.size]).toEqual([
    undefined,
    [],
    [],
    0,
  ]);
  expect([lister.resourceVersion, doubted.size]).toEqual(['', 0]);
  const registration = informer.addHandler({});
  expect([informer.hasSynced, registration.hasSynced, await informer.whenSynced(signal)]).toEqual([
    false,
    false,
    false,
  ]);
  expect(await informers.waitForSync(signal)).toBe(false);

  const volume = { metadata: { name: 'a' } };
  registration.remove();
  informer.addIndexers({});
  informer.remember(volume);
  informer.doubt(volume);
  await Promise.all([
    informer.confirm(key, async () => ({ items: [volume], resourceVersion: '1' })),
    informer.run(signal),
  ]);
  await Promise.all([informers.start(signal), informers.shutdown()]);
  expect(lister.size + doubted.size).toBe(0);
});
