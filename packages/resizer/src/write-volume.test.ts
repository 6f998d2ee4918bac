// SPDX-License-Identifier: Apache-2.0
import { ApiError, type LoopPorts, type PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aVolume } from '../testing/builders.ts';
import { patchVolume, type VolumePatch } from './write-volume.ts';

const metadata = { uid: 'uid-of-pv1' };
const conflict = new ApiError({ status: 409, reason: 'Conflict', message: 'busy' });

it.each<{ readonly patch: VolumePatch; readonly body: object }>([
  { patch: { annotations: { a: null } }, body: { metadata: { ...metadata, annotations: { a: null } } } },
  { patch: { spec: { capacity: { storage: '2Gi' } } }, body: { metadata, spec: { capacity: { storage: '2Gi' } } } },
])(
  'given the patch $patch and a busy server, then it is sent again with the UID, and the answer is known to cache and caller',
  async ({ patch, body }) => {
    const stored = aVolume({ cap: '2Gi' });
    const { signal } = new AbortController();
    const sent: unknown[] = [];
    const remembered: PersistentVolume[] = [];
    const client = {
      patch: async ({ ref }: { readonly ref: object }, { body: asked }: { readonly body: object }, options: object) => {
        sent.push({ ...ref, body: JSON.parse(JSON.stringify(asked)) as unknown, ...options });
        if (sent.length === 1) throw conflict;
        return stored;
      },
    } as unknown as LoopPorts['client'];
    const volumes = {
      remember: (volume: PersistentVolume) => void remembered.push(volume),
      doubt: () => undefined,
    } as never;
    expect(await patchVolume({ client, volumes, signal }, aVolume(), patch)).toBe(stored);
    const request = { name: 'pv1', body, signal };
    expect([sent, remembered]).toEqual([[request, request], [stored]]);
  },
);
