// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeAttachments,
  type PersistentVolumeClaim,
  type Pod,
} from '@csi-sidecars/runtime';
import { FakeClock, seededRandom } from '@csi-sidecars/runtime/testing';
import { unmountMs } from './attach-detach/attachments.ts';
import { stubDriver } from './node/driver.ts';
import { startSim, type Sim } from './sim.ts';

const driver = 'csi.example.com';
const namespace = 'default';
const claimRef = { namespace, name: 'data' };
const podRef = { namespace, name: 'app' };

interface Stage {
  readonly sim: Sim;
  readonly clock: FakeClock;
}

function arrange(): Stage {
  const clock = new FakeClock();
  const drivers = [stubDriver(driver, { nodeId: 'id-1', topology: { 'example.com/zone': 'a' }, maxVolumes: 8 })];
  const sim = startSim({ clock, random: seededRandom(1), nodes: [{ name: 'node-1', drivers }] });
  return { sim, clock };
}

function aClaim(): PersistentVolumeClaim {
  const spec = {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'fast',
    resources: { requests: { storage: '1Gi' } },
  };
  return { metadata: claimRef, spec };
}

function aPod(): Pod {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  return { metadata: podRef, spec: { containers: [{ name: 'app', image: 'app' }], volumes } };
}

/** Acts like the external provisioner. */
async function provision({ sim, clock }: Stage, volumeHandle = 'handle-1'): Promise<void> {
  const claim = await sim.client.get(persistentVolumeClaims, claimRef);
  const uid = claim.metadata?.uid ?? '';
  await sim.client.create(persistentVolumes, {
    metadata: { name: 'pv-1', annotations: { 'pv.kubernetes.io/provisioned-by': driver } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '2Gi' },
      claimRef: { ...claimRef, uid, kind: 'PersistentVolumeClaim', apiVersion: 'v1' },
      csi: { driver, volumeHandle },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'fast',
    },
  });
  await clock.advance(100);
}

/** Acts like the attacher. */
async function attachAll({ sim, clock }: Stage): Promise<void> {
  for (const { metadata } of sim.server.objects.list(volumeAttachments)) {
    const target = { resource: volumeAttachments, ref: { name: metadata?.name ?? '' } };
    const body = { status: { attached: true } };
    await sim.client.patch(target, { type: 'merge', body }, { subresource: 'status' });
  }
  await clock.advance(100);
}

async function withClass(stage: Stage, volumeBindingMode: string): Promise<void> {
  await stage.clock.advance(100);
  const metadata = { name: 'fast' };
  await stage.sim.client.create(storageClasses, { metadata, provisioner: driver, volumeBindingMode });
}

describe('a simulated cluster', () => {
  it('given a node with a driver, when started, then Node, CSINode and lease exist and the lease is renewed', async () => {
    const { sim, clock } = arrange();
    await using _ = sim;
    await clock.advance(100);
    const ref = { name: 'node-1' };
    const node = sim.server.objects.get(nodes, ref);
    expect(node?.metadata?.labels).toMatchObject({ 'example.com/zone': 'a', 'kubernetes.io/hostname': 'node-1' });
    expect(node?.metadata?.annotations).toMatchObject({ 'csi.volume.kubernetes.io/nodeid': `{"${driver}":"id-1"}` });
    expect(sim.server.objects.get(csiNodes, ref)?.spec.drivers).toEqual([
      { name: driver, nodeID: 'id-1', topologyKeys: ['example.com/zone'], allocatable: { count: 8 } },
    ]);
    const leaseRef = { namespace: 'kube-node-lease', name: 'node-1' };
    const before = sim.server.objects.get(leases, leaseRef)?.spec?.renewTime;
    await clock.advance(10_000);
    expect(sim.server.objects.get(leases, leaseRef)!.spec!.renewTime).not.toBe(before);
    sim.nodes.get('node-1')?.freeze();
    await clock.advance(10_000);
    const frozen = sim.server.objects.get(leases, leaseRef)?.spec?.renewTime;
    await clock.advance(60_000);
    expect(sim.server.objects.get(leases, leaseRef)?.spec?.renewTime).toBe(frozen);
  });

  it('given a claim of an immediate class, when created, then it is marked for its provisioner and bound to the volume that this creates', async () => {
    const stage = arrange();
    const { sim, clock } = stage;
    await using _ = sim;
    await withClass(stage, 'Immediate');
    await sim.client.create(persistentVolumeClaims, aClaim());
    await clock.advance(100);
    expect((await sim.client.get(persistentVolumeClaims, claimRef)).metadata).toMatchObject({
      annotations: {
        'volume.kubernetes.io/storage-provisioner': driver,
        'volume.beta.kubernetes.io/storage-provisioner': driver,
      },
      finalizers: ['kubernetes.io/pvc-protection'],
    });
    await provision(stage);
    const claim = await sim.client.get(persistentVolumeClaims, claimRef);
    expect(claim.metadata?.annotations).toMatchObject({
      'pv.kubernetes.io/bind-completed': 'yes',
      'pv.kubernetes.io/bound-by-controller': 'yes',
    });
    expect([claim.spec?.volumeName, claim.status]).toEqual([
      'pv-1',
      { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } },
    ]);
    const volume = await sim.client.get(persistentVolumes, { name: 'pv-1' });
    expect([volume.status?.phase, volume.metadata?.annotations]).toEqual([
      'Bound',
      { 'pv.kubernetes.io/provisioned-by': driver },
    ]);
  });

  it('given a claim that waits for its consumer, when a pod is created and deleted, then its volume is bound, attached, mounted, and released in reverse order', async () => {
    const stage = arrange();
    const { sim, clock } = stage;
    await withClass(stage, 'WaitForFirstConsumer');
    await sim.client.create(persistentVolumeClaims, aClaim());
    await clock.advance(100);
    expect((await sim.client.get(persistentVolumeClaims, claimRef)).metadata?.annotations).toBeUndefined();

    await sim.client.create(pods, aPod());
    await clock.advance(100);
    expect((await sim.client.get(persistentVolumeClaims, claimRef)).metadata?.annotations).toMatchObject({
      'volume.kubernetes.io/selected-node': 'node-1',
      'volume.kubernetes.io/storage-provisioner': driver,
    });
    await provision(stage);
    const scheduled = await sim.client.get(pods, podRef);
    expect([scheduled.spec?.nodeName, scheduled.status?.phase]).toEqual(['node-1', 'Pending']);
    const [attachment] = sim.server.objects.list(volumeAttachments);
    expect(attachment?.spec).toEqual({
      attacher: driver,
      nodeName: 'node-1',
      source: { persistentVolumeName: 'pv-1' },
    });

    await attachAll(stage);
    const name = `kubernetes.io/csi/${driver}^handle-1`;
    const node = await sim.client.get(nodes, { name: 'node-1' });
    expect(node.status).toMatchObject({ volumesInUse: [name], volumesAttached: [{ name, devicePath: '' }] });
    expect((await sim.client.get(pods, podRef)).status?.phase).toBe('Running');
    expect([...(sim.nodes.get('node-1')?.mounts().keys() ?? [])]).toEqual(['pv-1']);

    await sim.client.delete(persistentVolumeClaims, claimRef);
    await clock.advance(100);
    expect(sim.server.objects.get(persistentVolumeClaims, claimRef)?.metadata?.deletionTimestamp).toBeDefined();

    await sim.client.delete(pods, podRef);
    await clock.advance(1000);
    expect([sim.server.objects.list(pods), sim.server.objects.list(volumeAttachments)]).toEqual([[], []]);
    expect((await sim.client.get(nodes, { name: 'node-1' })).status).not.toHaveProperty('volumesInUse');
    expect(sim.server.objects.list(persistentVolumeClaims)).toEqual([]);
    expect((await sim.client.get(persistentVolumes, { name: 'pv-1' })).status?.phase).toBe('Released');

    await sim.client.delete(persistentVolumes, { name: 'pv-1' });
    await clock.advance(100);
    expect(sim.server.objects.list(persistentVolumes)).toEqual([]);
    await sim.stop();
    expect([clock.pending, sim.server.openWatches()]).toEqual([0, 0]);
  });

  it('given an attachment whose volume was replaced by one with another handle, when pod and Node are gone for six minutes, then the attachment is deleted', async () => {
    const stage = arrange();
    const { sim, clock } = stage;
    await using _ = sim;
    await withClass(stage, 'WaitForFirstConsumer');
    await sim.client.create(persistentVolumeClaims, aClaim());
    await sim.client.create(pods, aPod());
    await clock.advance(100);
    await provision(stage);
    await attachAll(stage);
    sim.nodes.get('node-1')?.freeze();
    const volumeRef = { name: 'pv-1' };
    await sim.client.delete(persistentVolumes, volumeRef);
    const merge = { type: 'merge', body: { metadata: { finalizers: null } } } as const;
    await sim.client.patch({ resource: persistentVolumes, ref: volumeRef }, merge);
    await provision(stage, 'handle-2');
    await sim.client.delete(pods, podRef, { gracePeriodSeconds: 0 });
    await sim.client.delete(nodes, { name: 'node-1' });
    await clock.advance(unmountMs);
    expect(sim.server.objects.list(volumeAttachments)).toEqual([]);
  });

  it('given the same seed, when the same sequence runs twice, then every request is the same', async () => {
    const run = async (): Promise<readonly unknown[]> => {
      const stage = arrange();
      await withClass(stage, 'WaitForFirstConsumer');
      await stage.sim.client.create(persistentVolumeClaims, aClaim());
      await stage.sim.client.create(pods, aPod());
      await stage.clock.advance(100);
      await provision(stage);
      await attachAll(stage);
      await stage.sim.client.delete(pods, podRef);
      await stage.clock.advance(60_000);
      await stage.sim.stop();
      return stage.sim.server.requests.map(({ verb, path, code, body }) => ({ verb, path, code, body }));
    };
    const first = await run();
    expect(first.length).toBeGreaterThan(50);
    expect(await run()).toEqual(first);
  });
});
