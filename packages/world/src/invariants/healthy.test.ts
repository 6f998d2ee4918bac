// SPDX-License-Identifier: Apache-2.0
import { createApiClient, isInvalid, persistentVolumeClaims, silentLogger } from '@csi-sidecars/runtime';
import { createFakeApiServer, FakeClock, seededRandom, withFaults } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { driverName } from '../names.ts';
import { lastMs, lostHealth } from './healthy.ts';

const ref = { namespace: 'team', name: 'data' };

/** The health monitor removes the health of a claim whose volume has been sick for too long. Returns the breaches and the answer. */
async function removal(uid: string | undefined): Promise<readonly [readonly (string | undefined)[], unknown]> {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  const csi = { driver: driverName, volumeHandle: 'volume-1' };
  const base = { apiVersion: 'v1', kind: 'PersistentVolume' };
  server.seed({ ...base, metadata: { name: 'pv1' }, spec: { csi, claimRef: { ...ref, uid: 'present' } } });
  server.seed({
    ...base,
    kind: 'PersistentVolumeClaim',
    metadata: { ...ref, uid: 'present' },
    spec: { volumeName: 'pv1' },
  });
  const breaches: (string | undefined)[] = [];
  const transport = withFaults(server.transport, {
    clock,
    decide: (target) => {
      breaches.push(lostHealth(server, target, { handles: new Map([['volume-1', 0]]), nowMs: lastMs }));
      return undefined;
    },
  });
  const options = { userAgent: 'csi-external-health-monitor-controller', qps: -1, burst: 0 };
  const client = createApiClient({ transport, clock, logger: silentLogger }, options);
  const body = { metadata: { uid }, status: { healthStatus: null } };
  const patch = client.patch(
    { resource: persistentVolumeClaims, ref },
    { type: 'merge', body },
    { subresource: 'status' },
  );
  return [
    breaches,
    await patch.then(
      () => 'stored',
      (error: unknown) => isInvalid(error) && 'refused',
    ),
  ];
}

it.each([
  ['the uid of the claim', 'present'],
  ['no uid', undefined],
])(
  'given a sick volume, when a patch with %s removes the health of its claim, then healthy is broken',
  async (_, uid) => {
    const breach = `healthy: data loses its health, and its volume has been sick for ${lastMs} ms`;
    expect(await removal(uid)).toEqual([[breach], 'stored']);
  },
);

it('given a sick volume, when a patch with the uid of an earlier claim is refused, then healthy is not broken', async () => {
  expect(await removal('earlier')).toEqual([[undefined], 'refused']);
});
