// SPDX-License-Identifier: Apache-2.0
/** The stories of csi-resizer: what users and the driver do with a volume that is there. */
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { addClass, type Flow } from './flows.ts';
import { programs } from './programs.ts';
import { driverName, namespace, type World } from './world.ts';

type ClaimStatus = NonNullable<PersistentVolumeClaim['status']>;

const call = { timeoutMs: 10_000 };
const gib = 1024n ** 3n;

/** A claim of 1Gi that is bound to a volume of the storage, and two classes. */
async function prepare(world: World): Promise<void> {
  const { sim, driver } = world;
  addClass(world, { allowVolumeExpansion: true });
  const { volume } = await driver.channel().call(
    '/csi.v1.Controller/CreateVolume',
    {
      name: 'data',
      volume_capabilities: [{ mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } }],
      capacity_range: { required_bytes: gib.toString() },
    },
    call,
  );
  await sim.client.create(persistentVolumes, {
    metadata: { name: 'data' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'fast',
      claimRef: { namespace, name: 'data' },
      csi: { driver: driverName, volumeHandle: volume?.volume_id ?? '' },
    },
  });
  for (const tier of ['gold', 'silver']) {
    await sim.client.create(volumeAttributesClasses, { metadata: { name: tier }, driverName, parameters: { tier } });
  }
  const resources = { requests: { storage: '1Gi' } };
  await world.createClaim('data', { volumeName: 'data', resources });
  if (!(await world.until(() => world.isBound('data')))) throw new Error('the claim was never bound');
}

async function change({ sim }: World, spec: object): Promise<void> {
  const target = { resource: persistentVolumeClaims, ref: { namespace, name: 'data' } };
  await sim.client.patch(target, { type: 'merge', body: { spec } });
}
const ask = (world: World, storage: string): Promise<void> => change(world, { resources: { requests: { storage } } });
const want = (world: World, name: string): Promise<void> => change(world, { volumeAttributesClassName: name });

const [expand, modify] = ['ControllerExpandVolume', 'ControllerModifyVolume'];
const refuse = (world: World, method: string, code: 'Internal' | 'Unavailable'): void =>
  void world.driver.faults.add({ method, times: 2, action: { kind: 'fail', code } });
const slow = (world: World, method: string, ms: number): void =>
  void world.driver.faults.add({ method, at: 'during', times: 1, action: { kind: 'delay', ms } });

const never = (world: World, method: string, code: 'OutOfRange' | 'InvalidArgument'): string =>
  world.driver.faults.add({ method, action: { kind: 'fail', code } });

/** Waits until the claim shows it: then what came before is recorded, whatever happened meanwhile. */
async function untilStatus(world: World, check: (status: ClaimStatus) => boolean): Promise<void> {
  if (!(await world.until(() => check(world.claim('data')?.status ?? {}))))
    throw new Error('the claim never got there');
}
const resizeIs =
  (wanted: string) =>
  ({ allocatedResourceStatuses }: ClaimStatus): boolean =>
    allocatedResourceStatuses?.['storage'] === wanted;

/** As by kubelet. */
async function reportAsNode({ sim }: World, status: object): Promise<void> {
  const target = { resource: persistentVolumeClaims, ref: { namespace, name: 'data' } };
  await sim.client.patch(target, { type: 'merge', body: { status } }, { subresource: 'status' });
}
const finishOnNode = (world: World, storage: string): Promise<void> =>
  reportAsNode(world, { capacity: { storage }, allocatedResourceStatuses: null, conditions: null });

const base = { program: programs['csi-resizer'], expands: 'without node', prepare } as const;

export const resizeFlows: readonly Flow[] = [
  { ...base, name: 'expand', act: (world) => ask(world, '2Gi') },
  {
    ...base,
    name: 'failed-expand',
    prepare: async (world) => {
      await prepare(world);
      refuse(world, expand, 'Internal');
    },
    act: (world) => ask(world, '2Gi'),
  },
  {
    ...base,
    name: 'slow-expand',
    prepare: async (world) => {
      await prepare(world);
      slow(world, expand, 20_000);
    },
    act: (world) => ask(world, '2Gi'),
  },
  {
    ...base,
    name: 'raise-while-expanding',
    prepare: async (world) => {
      await prepare(world);
      slow(world, expand, 8_000);
    },
    act: async (world) => {
      await ask(world, '2Gi');
      await world.clock.advance(3_000);
      await ask(world, '3Gi');
    },
  },
  { ...base, name: 'modify', act: (world) => want(world, 'gold') },
  {
    ...base,
    name: 'failed-modify',
    prepare: async (world) => {
      await prepare(world);
      refuse(world, modify, 'Unavailable');
    },
    act: (world) => want(world, 'gold'),
  },
  {
    ...base,
    name: 'another-class-while-modifying',
    prepare: async (world) => {
      await prepare(world);
      slow(world, modify, 8_000);
    },
    act: async (world) => {
      await want(world, 'gold');
      await world.clock.advance(3_000);
      await want(world, 'silver');
    },
  },
  {
    ...base,
    name: 'expand-and-modify',
    act: (world) => change(world, { resources: { requests: { storage: '2Gi' } }, volumeAttributesClassName: 'gold' }),
  },
  {
    ...base,
    name: 'recover-from-refused-size',
    act: async (world) => {
      const refusal = never(world, expand, 'OutOfRange');
      await ask(world, '4Gi');
      await untilStatus(world, resizeIs('ControllerResizeInfeasible'));
      world.driver.faults.remove(refusal);
      await ask(world, '2Gi');
    },
  },
  {
    ...base,
    name: 'expand-with-node',
    expands: 'with node',
    act: async (world) => {
      await ask(world, '2Gi');
      await untilStatus(world, resizeIs('NodeResizePending'));
      await finishOnNode(world, '2Gi');
    },
  },
  {
    ...base,
    name: 'recover-from-failure-on-node',
    expands: 'with node',
    act: async (world) => {
      await ask(world, '4Gi');
      await untilStatus(world, resizeIs('NodeResizePending'));
      await reportAsNode(world, { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } });
      await ask(world, '3Gi');
      await untilStatus(world, resizeIs('NodeResizePending'));
      await finishOnNode(world, '4Gi');
    },
  },
  {
    ...base,
    name: 'back-from-refused-class',
    prepare: async (world) => {
      await prepare(world);
      await want(world, 'silver');
      await untilStatus(world, ({ currentVolumeAttributesClassName: name }) => name === 'silver');
    },
    act: async (world) => {
      const refusal = never(world, modify, 'InvalidArgument');
      await want(world, 'gold');
      await untilStatus(world, ({ modifyVolumeStatus }) => modifyVolumeStatus?.status === 'Infeasible');
      world.driver.faults.remove(refusal);
      await want(world, 'silver');
    },
  },
];
