// SPDX-License-Identifier: Apache-2.0
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { aVolume, ScriptedBody, scriptedInformer } from '../../testing/index.ts';

const count = 50_000;

/** All volumes as watch events, a thousand per chunk; parsed anew each time, as from a server. */
function allVolumes(body: ScriptedBody): ScriptedBody {
  for (let from = 0; from < count; from += 1000) {
    const lines = Array.from({ length: 1000 }, (_, i) => {
      const n = from + i;
      const volume = aVolume(`pvc-0b7c1e2a-1111-4222-8333-${n}`, `${n + 1}`, {
        creationTimestamp: '2026-01-01T00:00:00Z',
        finalizers: ['kubernetes.io/pv-protection', 'external-attacher/disk-csi-example-com'],
        managedFields: [{ manager: 'csi-provisioner', operation: 'Update', fieldsV1: { 'f:spec': {} } }],
      });
      const csi = { driver: 'disk.csi.example.com', volumeHandle: `vol-0123456789abcdef-${n}`, fsType: 'ext4' };
      const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'team', name: `data-${n}`, uid: `0b7c1e2a-${n}` };
      return `${JSON.stringify({ type: 'ADDED', object: { ...volume, spec: { ...volume.spec, csi, claimRef } } })}\n`;
    });
    body.write(lines.join(''));
  }
  return body;
}

function usedHeap(): number {
  setFlagsFromString('--expose_gc');
  const gc = runInNewContext('gc') as () => void;
  gc();
  return getHeapStatistics().used_heap_size;
}

it('[runtime#93d] given a relist of 50,000 unchanged objects, then the heap grows by less than 20 percent and nobody is told', async () => {
  const empty = usedHeap();
  const { api, clock, informer, start, stop } = scriptedInformer({
    indexers: { handle: ({ spec }) => [spec?.csi?.volumeHandle ?? ''] },
  });
  const first = allVolumes(new ScriptedBody()).bookmark(`${count}`, 'end');
  const relist = new ScriptedBody();
  api.answers(first, relist);
  await start();
  expect(informer.lister.size).toBe(count);
  let told = 0;
  informer.addHandler({ add: () => (told += 1), update: () => (told += 1), delete: () => (told += 1) });
  await clock.advance(0);
  expect(told).toBe(count);
  const cached = usedHeap() - empty;

  first.write('garbage\n');
  await clock.advance(800);
  allVolumes(relist);
  await clock.advance(0);
  const peak = usedHeap() - empty;
  expect(relist.taken).toBe(count / 1000);
  relist.bookmark(`${count}`, 'end');
  await clock.advance(0);
  expect(informer.lister.resourceVersion).toBe(`${count}`);
  expect(told).toBe(count);
  expect(peak / cached).toBeLessThan(1.2);
  await stop();
}, 60_000);
