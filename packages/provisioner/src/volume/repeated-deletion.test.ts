// SPDX-License-Identifier: Apache-2.0
/** A deletion that is finished before the watch delivers it. */
import { silentLogger, type PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aDriver, aVolume } from '../../testing/builders.ts';
import { volumeFinalizer } from '../names.ts';
import { createVolumeReconcile, type VolumeLoopDeps } from './controller.ts';

const deletedAt = '2026-01-01T00:00:00Z';
const deleting = (volume: PersistentVolume | undefined): PersistentVolume => ({
  ...volume,
  metadata: { ...volume?.metadata, deletionTimestamp: deletedAt },
});

it('given a finished deletion, when the cache still shows the volume, then it is not deleted again, but one of a new UID is', async () => {
  const calls: string[] = [];
  const remembered: unknown[] = [];
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
    volumes: { remember: (volume: PersistentVolume) => void remembered.push(volume.metadata?.deletionTimestamp) },
    channel: { call: async (method: string) => void calls.push(method) },
    client: { delete: async () => deleting(cached), patch: async () => deleting(cached) },
  } as unknown as VolumeLoopDeps;
  const reconcile = createVolumeReconcile(deps);
  const { signal } = new AbortController();

  await reconcile(name, signal);
  await reconcile(name, signal);
  expect(calls).toEqual(['/csi.v1.Controller/DeleteVolume']);
  // What the API server answered to DELETE, and to the removal of the finalizer.
  expect(remembered).toEqual([deletedAt, deletedAt]);

  cached = { ...cached, metadata: { ...cached.metadata, uid: 'another' } };
  await reconcile(name, signal);
  expect(calls.length).toBe(2);
});
