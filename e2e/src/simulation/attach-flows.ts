// SPDX-License-Identifier: Apache-2.0
/** The flows of csi-attacher: actions of the attach/detach controller, of users and of the driver. */
import { csiNodes, persistentVolumes, secrets, volumeAttachments, type PersistentVolume } from '@csi-sidecars/runtime';
import type { Flow } from './flows.ts';
import { programs } from './programs.ts';
import { driverName, namespace, nodeIdOf, type World } from './world.ts';

const [one, other] = ['node-1', 'node-2'] as const;
const call = { timeoutMs: 10_000 };
type CsiSource = NonNullable<NonNullable<PersistentVolume['spec']>['csi']>;

/** One volume in the storage, and its object. */
async function makeVolume({ sim, driver }: World, csi: Partial<CsiSource> = {}): Promise<void> {
  const { volume } = await driver
    .channel()
    .call(
      '/csi.v1.Controller/CreateVolume',
      { name: 'data', volume_capabilities: [{ mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } }] },
      call,
    );
  await sim.client.create(persistentVolumes, {
    metadata: { name: 'data' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: driverName, volumeHandle: volume?.volume_id ?? '', ...csi },
    },
  });
}

async function attach({ sim }: World, nodeName: string = one): Promise<void> {
  const spec = { attacher: driverName, nodeName, source: { persistentVolumeName: 'data' } };
  await sim.client.create(volumeAttachments, { metadata: { name: `data-on-${nodeName}` }, spec });
}

async function detach({ sim }: World, nodeName: string = one): Promise<void> {
  await sim.client.delete(volumeAttachments, { name: `data-on-${nodeName}` });
}

async function untilAttached(world: World, nodeName: string = one): Promise<void> {
  const isAttached = (): boolean =>
    world.sim.server.objects.get(volumeAttachments, { name: `data-on-${nodeName}` })?.status?.attached === true;
  if (!(await world.until(isAttached))) throw new Error('the volume was never attached');
}

async function untilDetached(world: World, nodeName: string = one): Promise<void> {
  const isGone = (): boolean =>
    world.sim.server.objects.get(volumeAttachments, { name: `data-on-${nodeName}` }) === undefined;
  if (!(await world.until(isGone))) throw new Error('the volume was never detached');
}

async function prepareAttached(world: World): Promise<void> {
  await makeVolume(world);
  await attach(world);
  await untilAttached(world);
}

/** The storage detaches the volume by itself. */
async function detachBehindEverybody({ driver }: World): Promise<void> {
  const request = { volume_id: driver.volumes()[0]?.id ?? '', node_id: nodeIdOf(one) };
  await driver.channel().call('/csi.v1.Controller/ControllerUnpublishVolume', request, call);
}

function slowPublish({ driver }: World, ms: number): void {
  const action = { kind: 'delay', ms } as const;
  driver.faults.add({ method: 'ControllerPublishVolume', at: 'during', times: 1, action });
}

const base = { program: programs['csi-attacher'], attachTo: [one, other] } as const;

export const attachFlows: readonly Flow[] = [
  { ...base, name: 'attach', prepare: (world) => makeVolume(world), act: (world) => attach(world) },
  { ...base, name: 'detach', prepare: prepareAttached, act: (world) => detach(world) },
  {
    ...base,
    name: 'attach-with-secret',
    prepare: async (world) => {
      await world.sim.client.create(secrets, { metadata: { namespace, name: 'login' }, data: { password: 'eA==' } });
      await makeVolume(world, { controllerPublishSecretRef: { namespace, name: 'login' } });
    },
    act: (world) => attach(world),
  },
  {
    ...base,
    name: 'failed-attach',
    prepare: async (world) => {
      await makeVolume(world);
      const action = { kind: 'fail', code: 'Internal' } as const;
      world.driver.faults.add({ method: 'ControllerPublishVolume', times: 2, action });
    },
    act: (world) => attach(world),
  },
  {
    ...base,
    name: 'failed-detach',
    prepare: async (world) => {
      await prepareAttached(world);
      const action = { kind: 'fail', code: 'Unavailable' } as const;
      world.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 2, action });
    },
    act: (world) => detach(world),
  },
  {
    ...base,
    name: 'given-up-attach',
    prepare: async (world) => {
      await makeVolume(world);
      world.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'fail', code: 'Internal' } });
    },
    act: async (world) => {
      await attach(world);
      await world.clock.advance(5000);
      await detach(world);
    },
  },
  {
    ...base,
    name: 'detach-while-attaching',
    prepare: async (world) => {
      await makeVolume(world);
      slowPublish(world, 8000);
    },
    act: async (world) => {
      await attach(world);
      await world.clock.advance(3000);
      await detach(world);
    },
  },
  {
    ...base,
    name: 'slow-attach',
    prepare: async (world) => {
      await makeVolume(world);
      slowPublish(world, 20_000);
    },
    act: (world) => attach(world),
  },
  { ...base, name: 'forced-attach', prepare: prepareAttached, act: detachBehindEverybody },
  {
    ...base,
    name: 'move',
    prepare: prepareAttached,
    act: async (world) => {
      await detach(world);
      await untilDetached(world);
      await attach(world, other);
    },
  },
  {
    ...base,
    name: 'detach-without-node',
    prepare: async (world) => {
      await prepareAttached(world);
      await world.sim.client.delete(csiNodes, { name: one });
    },
    act: (world) => detach(world),
  },
  {
    ...base,
    name: 'release',
    prepare: async (world) => {
      await prepareAttached(world);
      await world.sim.client.delete(persistentVolumes, { name: 'data' });
    },
    act: async (world) => {
      const { id = '' } = world.driver.volumes()[0] ?? {};
      await detach(world);
      const isGone = (): boolean => world.sim.server.objects.get(persistentVolumes, { name: 'data' }) === undefined;
      if (!(await world.until(isGone))) throw new Error('the volume object was never released');
      await world.driver.channel().call('/csi.v1.Controller/DeleteVolume', { volume_id: id }, call);
    },
  },
];
