// SPDX-License-Identifier: Apache-2.0
/** A deletion that is finished before the watch delivers it. */
import { silentLogger, type PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aDriver, aVolume } from '../../testing/builders.ts';
import { volumeFinalizer } from '../names.ts';
import { createVolumeReconcile, type VolumeLoopDeps } from './controller.ts';

it('given a finished deletion, when the cache still shows the volume, then it is not deleted again, but one of a new UID is', async () => {
  const calls: string[] = [];
  let cached: PersistentVolume | undefined = aVolume({ finalizers: [volumeFinalizer] });
  const name = cached.metadata?.name as Parameters<ReturnType<typeof createVolumeReconcile>>[0];
  const deps = {
    clock: { monotonicMs: () => 0 },
    logger: silentLogger,
    timeoutMs: 1000,
    caches: { volumes: { get: () => cached }, classes: { get: () => undefined }, attachments: undefined },
    context: { driver: aDriver() },
    events: { record: () => undefined },
    metrics: { deleted: () => undefined, deleteFailed: () => undefined },
    volumes: { remember: () => undefined },
    channel: { call: async (method: string) => void calls.push(method) },
    client: { delete: async () => cached, patch: async () => cached },
  } as unknown as VolumeLoopDeps;
  const reconcile = createVolumeReconcile(deps);
  const { signal } = new AbortController();

  await reconcile(name, signal);
  await reconcile(name, signal);
  expect(calls).toEqual(['/csi.v1.Controller/DeleteVolume']);

  cached = { ...cached, metadata: { ...cached.metadata, uid: 'another' } };
  await reconcile(name, signal);
  expect(calls.length).toBe(2);
});
