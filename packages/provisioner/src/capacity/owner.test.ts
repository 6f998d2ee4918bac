// SPDX-License-Identifier: Apache-2.0
import { createApiClient, type KubeObject, type OwnerReference } from '@csi-sidecars/runtime';
import { createFakeApiServer, FakeClock, recordingLogger, seededRandom } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { lookUpOwner } from './owner.ts';

const replicaSets = {
  group: 'apps',
  version: 'v1',
  plural: 'replicasets',
  kind: 'ReplicaSet',
  namespaced: true,
} as const;

const reference = (kind: string, name: string, controller?: boolean): OwnerReference => ({
  apiVersion: 'apps/v1',
  kind,
  name,
  uid: `uid-of-${name}`,
  ...(controller === undefined ? {} : { controller }),
});

const aPod = (...ownerReferences: readonly OwnerReference[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'pod', namespace: 'csi', uid: 'uid-of-pod', ownerReferences },
});

const aReplicaSet = (name = 'set', namespace = 'csi'): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name, namespace, uid: `uid-of-${name}`, ownerReferences: [reference('Deployment', 'driver', true)] },
});

async function lookUp(level: number, ...seed: readonly KubeObject[]) {
  const clock = new FakeClock();
  const server = createFakeApiServer({ clock, random: seededRandom(1) });
  server.addTypes({ ...replicaSets, status: 'absent' });
  for (const object of seed) server.seed(object);
  const client = createApiClient(
    { transport: server.transport, clock, logger: recordingLogger() },
    { userAgent: 'test', qps: -1, burst: 1 },
  );
  const { signal } = new AbortController();
  const owner = await lookUpOwner(client, { namespace: 'csi', podName: 'pod', level }, signal).catch(
    (error: Error) => error.message,
  );
  return { owner, read: server.requests.filter(({ verb }) => verb === 'get').map(({ resource }) => resource) };
}

const found = (apiVersion: string, kind: string, name: string): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid: `uid-of-${name}`,
  controller: true,
});

describe('the owner', () => {
  it('[provisioner-topology-capacity#O1] given no Pod, then an error', async () => {
    expect((await lookUp(0)).owner).toContain('not found');
  });

  it('[provisioner-topology-capacity#O2] given level 0, then the Pod', async () => {
    expect(await lookUp(0, aPod())).toEqual({ owner: found('v1', 'Pod', 'pod'), read: ['pods'] });
  });

  it('[provisioner-topology-capacity#O3] given level 1 and a Pod without controller, then an error', async () => {
    expect((await lookUp(1, aPod())).owner).toBe(
      'v1/Pod "pod" in namespace "csi" has no controlling owner, cannot unwind the ownership further',
    );
  });

  it('[provisioner-topology-capacity#O4] given level 1, then the controller of the Pod, which is not read and need not exist', async () => {
    expect(await lookUp(1, aPod(reference('StatefulSet', 'driver', true)))).toEqual({
      owner: found('apps/v1', 'StatefulSet', 'driver'),
      read: ['pods'],
    });
  });

  it('[provisioner-topology-capacity#O5,O6] given level 2 and no such ReplicaSet in the namespace, then an error', async () => {
    const pod = aPod(reference('ReplicaSet', 'set', true));
    for (const others of [[], [aReplicaSet('other')], [aReplicaSet('set', 'elsewhere')]]) {
      expect((await lookUp(2, pod, ...others)).owner).toContain('replicasets.apps "set" not found');
    }
  });

  it('[provisioner-topology-capacity#O7] given level 2, then the Deployment, which is not read', async () => {
    const { owner, read } = await lookUp(2, aPod(reference('ReplicaSet', 'set', true)), aReplicaSet());
    expect(owner).toEqual(found('apps/v1', 'Deployment', 'driver'));
    expect(read).toEqual(['pods', 'replicasets']);
  });

  it('[provisioner-topology-capacity#O8,O9] given several references, then the first controller counts', async () => {
    const pod = aPod(
      reference('Job', 'guest'),
      reference('Job', 'friend', false),
      reference('StatefulSet', 'driver', true),
      reference('DaemonSet', 'late', true),
    );
    expect((await lookUp(1, pod)).owner).toEqual(found('apps/v1', 'StatefulSet', 'driver'));
  });

  it('given an owner of a kind that the server does not serve, then an error that names it', async () => {
    const pod = aPod({ ...reference('Wonder', 'w', true) });
    expect((await lookUp(2, pod)).owner).toBe('no matches for kind "Wonder" in version "apps/v1"');
  });
});
