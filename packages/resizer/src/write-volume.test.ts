// SPDX-License-Identifier: Apache-2.0
import { ApiError, isNotFound, type LoopPorts, type PersistentVolume } from '@csi-sidecars/runtime';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { aVolume } from '../testing/builders.ts';
import { changeVolume, type VolumePatch } from './write-volume.ts';

const conflict = new ApiError({ status: 409, reason: 'Conflict', message: 'changed' });
const version = (resourceVersion: string, cap = '1Gi'): PersistentVolume => {
  const volume = aVolume({ cap });
  return { ...volume, metadata: { ...volume.metadata, resourceVersion } };
};
const [before, between, after] = [version('5'), version('6'), version('7', '2Gi')];

async function changed(patchOf: (volume: PersistentVolume) => VolumePatch | undefined, isGone = false) {
  const sent: unknown[] = [];
  const remembered: PersistentVolume[] = [];
  const client = {
    patch: async ({ ref }: { readonly ref: object }, patch: { readonly type: string; readonly body: object }) => {
      sent.push({ ...ref, ...(JSON.parse(JSON.stringify(patch)) as object) });
      if (sent.length === 1) throw conflict;
      return after;
    },
    list: async (_resource: object, { fieldSelector }: { readonly fieldSelector: string }) => {
      sent.push(`list ${fieldSelector}`);
      return { items: isGone ? [] : [between] };
    },
  } as unknown as LoopPorts['client'];
  const cache = { remember: (volume: PersistentVolume) => void remembered.push(volume), doubt: () => undefined };
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const deps = { client, clock, random: seededRandom(1), caches: { volumes: cache as never }, signal };
  const changing = changeVolume(deps, before, patchOf);
  changing.catch(() => undefined);
  await clock.advance(1_000);
  return { stored: await changing, sent, remembered };
}

it.each<{ readonly patch: VolumePatch; readonly metadata: object; readonly rest: object }>([
  { patch: { annotations: { a: null } }, metadata: { annotations: { a: null } }, rest: {} },
  {
    patch: { spec: { capacity: { storage: '2Gi' } } },
    metadata: {},
    rest: { spec: { capacity: { storage: '2Gi' } } },
  },
])(
  'given the patch $patch and a PersistentVolume that has changed, then it is read, sent again for what it is now, and known to the cache',
  async ({ patch, metadata, rest }) => {
    const { stored, sent, remembered } = await changed(() => patch);
    const request = (resourceVersion: string): object => ({
      name: 'pv1',
      type: 'strategic',
      body: { metadata: { uid: 'uid-of-pv1', resourceVersion, ...metadata }, ...rest },
    });
    expect([stored, sent, remembered]).toEqual([
      after,
      [request('5'), 'list metadata.name=pv1', request('6')],
      [between, after],
    ]);
  },
);

it('given a PersistentVolume that has changed so that nothing is to be written, then it is the one that was read', async () => {
  const { stored, sent, remembered } = await changed((known) => (known === before ? { spec: {} } : undefined));
  expect([stored, sent.length, remembered]).toEqual([between, 2, [between]]);
});

it('given a PersistentVolume that is gone after a conflict, then NotFound is thrown', async () => {
  const changing = changed(() => ({ spec: {} }), true);
  expect(isNotFound(await changing.catch((error: unknown) => error))).toBe(true);
});
