// SPDX-License-Identifier: Apache-2.0
/** The flows of csi-attacher: actions of the attach/detach controller, of users and of the driver. */
import { csiNodes, persistentVolumes, secrets, volumeAttachments, type PersistentVolume } from '@csi-sidecars/runtime';
import type { Flow } from './flows.ts';
import { programs } from './programs.ts';
import { driverName, namespace, nodeIdOf, type Simulation } from './simulation.ts';

const [one, other] = ['node-1', 'node-2'] as const;
const call = { timeoutMs: 10_000 };
type CsiSource = NonNullable<NonNullable<PersistentVolume['spec']>['csi']>;

/** One volume in the storage, and its object. */
async function makeVolume({ sim, driver }: Simulation, csi: Partial<CsiSource> = {}): Promise<void> {
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

async function attach({ sim }: Simulation, nodeName: string = one): Promise<void> {
  const spec = { attacher: driverName, nodeName, source: { persistentVolumeName: 'data' } };
  await sim.client.create(volumeAttachments, { metadata: { name: `data-on-${nodeName}` }, spec });
}

async function detach({ sim }: Simulation, nodeName: string = one): Promise<void> {
  await sim.client.delete(volumeAttachments, { name: `data-on-${nodeName}` });
}

async function untilAttached(simulation: Simulation, nodeName: string = one): Promise<void> {
  const isAttached = (): boolean =>
    simulation.sim.server.objects.get(volumeAttachments, { name: `data-on-${nodeName}` })?.status?.attached === true;
  if (!(await simulation.until(isAttached))) throw new Error('the volume was never attached');
}

async function untilDetached(simulation: Simulation, nodeName: string = one): Promise<void> {
  const isGone = (): boolean =>
    simulation.sim.server.objects.get(volumeAttachments, { name: `data-on-${nodeName}` }) === undefined;
  if (!(await simulation.until(isGone))) throw new Error('the volume was never detached');
}

async function prepareAttached(simulation: Simulation): Promise<void> {
  await makeVolume(simulation);
  await attach(simulation);
  await untilAttached(simulation);
}

/** The storage detaches the volume by itself. */
async function detachBehindEverybody({ driver }: Simulation): Promise<void> {
  const request = { volume_id: driver.volumes()[0]?.id ?? '', node_id: nodeIdOf(one) };
  await driver.channel().call('/csi.v1.Controller/ControllerUnpublishVolume', request, call);
}

function slowPublish({ driver }: Simulation, ms: number): void {
  const action = { kind: 'delay', ms } as const;
  driver.faults.add({ method: 'ControllerPublishVolume', at: 'during', times: 1, action });
}

const base = { program: programs['csi-attacher'], attachTo: [one, other] } as const;

export const attachFlows: readonly Flow[] = [
  { ...base, name: 'attach', prepare: (simulation) => makeVolume(simulation), act: (simulation) => attach(simulation) },
  { ...base, name: 'detach', prepare: prepareAttached, act: (simulation) => detach(simulation) },
  {
    ...base,
    name: 'attach-with-secret',
    prepare: async (simulation) => {
      await simulation.sim.client.create(secrets, {
        metadata: { namespace, name: 'login' },
        data: { password: 'eA==' },
      });
      await makeVolume(simulation, { controllerPublishSecretRef: { namespace, name: 'login' } });
    },
    act: (simulation) => attach(simulation),
  },
  {
    ...base,
    name: 'failed-attach',
    prepare: async (simulation) => {
      await makeVolume(simulation);
      const action = { kind: 'fail', code: 'Internal' } as const;
      simulation.driver.faults.add({ method: 'ControllerPublishVolume', times: 2, action });
    },
    act: (simulation) => attach(simulation),
  },
  {
    ...base,
    name: 'failed-detach',
    prepare: async (simulation) => {
      await prepareAttached(simulation);
      const action = { kind: 'fail', code: 'Unavailable' } as const;
      simulation.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 2, action });
    },
    act: (simulation) => detach(simulation),
  },
  {
    ...base,
    name: 'given-up-attach',
    prepare: async (simulation) => {
      await makeVolume(simulation);
      simulation.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'fail', code: 'Internal' } });
    },
    act: async (simulation) => {
      await attach(simulation);
      await simulation.clock.advance(5000);
      await detach(simulation);
    },
  },
  {
    ...base,
    name: 'detach-while-attaching',
    prepare: async (simulation) => {
      await makeVolume(simulation);
      slowPublish(simulation, 8000);
    },
    act: async (simulation) => {
      await attach(simulation);
      await simulation.clock.advance(3000);
      await detach(simulation);
    },
  },
  {
    ...base,
    name: 'slow-attach',
    prepare: async (simulation) => {
      await makeVolume(simulation);
      slowPublish(simulation, 20_000);
    },
    act: (simulation) => attach(simulation),
  },
  { ...base, name: 'forced-attach', prepare: prepareAttached, act: detachBehindEverybody },
  {
    ...base,
    name: 'move',
    prepare: prepareAttached,
    act: async (simulation) => {
      await detach(simulation);
      await untilDetached(simulation);
      await attach(simulation, other);
    },
  },
  {
    ...base,
    name: 'detach-without-node',
    prepare: async (simulation) => {
      await prepareAttached(simulation);
      await simulation.sim.client.delete(csiNodes, { name: one });
    },
    act: (simulation) => detach(simulation),
  },
  {
    ...base,
    name: 'release',
    prepare: async (simulation) => {
      await prepareAttached(simulation);
      await simulation.sim.client.delete(persistentVolumes, { name: 'data' });
    },
    act: async (simulation) => {
      const { id = '' } = simulation.driver.volumes()[0] ?? {};
      await detach(simulation);
      const isGone = (): boolean =>
        simulation.sim.server.objects.get(persistentVolumes, { name: 'data' }) === undefined;
      if (!(await simulation.until(isGone))) throw new Error('the volume object was never released');
      await simulation.driver.channel().call('/csi.v1.Controller/DeleteVolume', { volume_id: id }, call);
    },
  },
];
