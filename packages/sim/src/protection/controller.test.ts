// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { persistentVolumeClaims, pods, type Transport } from '@csi-sidecars/runtime';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { startSim } from '../sim.ts';

it('a claim stays while a pod uses it that was scheduled a moment ago, whatever the watch has brought', async () => {
  let isSilent = false;
  const holdPods =
    (transport: Transport): Transport =>
    async (request) => {
      const response = await transport(request);
      const isHeld = /\/pods\?.*watch=/.test(request.path);
      return isHeld ? { ...response, body: until(response.body, () => isSilent) } : response;
    };
  const clock = new FakeClock();
  await using sim = startSim({ clock, random: seededRandom(1), intercept: holdPods });
  const metadata = { namespace: 'default', name: 'data' };
  const resources = { requests: { storage: '1Gi' } };
  await clock.advance(100);
  await sim.client.create(persistentVolumeClaims, { metadata, spec: { accessModes: ['ReadWriteOnce'], resources } });
  await clock.advance(100);
  isSilent = true;
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  const containers = [{ name: 'app', image: 'app' }];
  await sim.client.create(pods, {
    metadata: { ...metadata, name: 'app' },
    spec: { nodeName: 'node', containers, volumes },
  });
  await sim.client.delete(persistentVolumeClaims, metadata);
  await clock.advance(1_000);
  expect(sim.server.objects.get(persistentVolumeClaims, metadata)?.metadata?.finalizers).toEqual([
    'kubernetes.io/pvc-protection',
  ]);
});

async function* until(body: AsyncIterable<Uint8Array>, isSilent: () => boolean): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) if (!isSilent()) yield chunk;
}
