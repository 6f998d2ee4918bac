// SPDX-License-Identifier: Apache-2.0
/**
 * The flows whose every write and call is tested with faults. A flow is a sequence of actions of users and the driver, independent of
 * crashes. `openWindows` names the points at which the provisioner's page documents a possible leak: only there one volume
 * may be left behind.
 */
import type { PersistentVolumeClaim, Pod, StorageClass } from '@csi-sidecars/runtime';
import { persistentVolumeClaims, persistentVolumes, pods } from '@csi-sidecars/runtime';
import type { SidecarProgram } from './sidecar-process.ts';
import { driverName, type Expanding, namespace, type World } from './world.ts';

export interface Flow {
  readonly name: string;
  /** Default csi-provisioner. */
  readonly program?: SidecarProgram;
  /** One node in each. Default none. */
  readonly zones?: readonly string[];
  /** Nodes to which the driver attaches volumes. Default none: the driver cannot attach. */
  readonly attachTo?: readonly string[];
  /** How the driver expands volumes. Default: not at all. */
  readonly expands?: Expanding;
  /** The preparation, which runs without faults and is not enumerated. */
  readonly prepare: (world: World) => Promise<void> | void;
  readonly act: (world: World) => Promise<void>;
  /** Names of points without their number, e.g. `crash after CreateVolume`. Default none. */
  readonly openWindows?: readonly string[];
}

export function addClass(world: World, storageClass: Partial<StorageClass> = {}): void {
  world.sim.server.seed<StorageClass>({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast' },
    provisioner: driverName,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
    ...storageClass,
  });
}

export const lateBinding: Partial<StorageClass> = { volumeBindingMode: 'WaitForFirstConsumer' };

/** A pod that uses the claim of the same name. */
export async function createPod({ sim }: World, name: string): Promise<void> {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: name } }];
  const pod: Pod = {
    metadata: { namespace, name },
    spec: { containers: [{ name: 'app', image: 'app' }], volumes },
  };
  await sim.client.create(pods, pod);
}

async function createAndBind(world: World, spec?: Partial<PersistentVolumeClaim['spec']>): Promise<void> {
  await world.createClaim('data', spec);
  if (!(await world.until(() => world.isBound('data')))) throw new Error('the claim was never bound');
}

/** The user deletes the claim while the driver creates the volume. */
async function deleteWhileCreating(world: World): Promise<void> {
  await world.createClaim('data');
  await world.until(() => world.driver.calls.some(({ method }) => method.endsWith('/CreateVolume')), 60_000);
  await world.clock.advance(1000);
  await world.deleteClaim('data');
}

/** The first answer of the driver. */
function slowFirst(world: World, ms: number): void {
  world.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms } });
}

export const flows: readonly Flow[] = [
  { name: 'create', prepare: (world) => addClass(world), act: (world) => world.createClaim('data') },
  {
    name: 'delete',
    prepare: async (world) => {
      addClass(world);
      await createAndBind(world);
    },
    act: (world) => world.deleteClaim('data'),
  },
  {
    name: 'late-binding',
    zones: ['zone-east', 'zone-west'],
    prepare: (world) => addClass(world, lateBinding),
    act: async (world) => {
      await world.createClaim('data');
      await createPod(world, 'data');
    },
  },
  {
    name: 'secret',
    prepare: (world) => {
      addClass(world, {
        parameters: {
          'csi.storage.k8s.io/provisioner-secret-name': 'login',
          'csi.storage.k8s.io/provisioner-secret-namespace': namespace,
        },
      });
      const metadata = { namespace, name: 'login' };
      world.sim.server.seed({ apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'eA==' } });
    },
    act: async (world) => {
      await createAndBind(world);
      await world.clock.advance(5000);
      await world.deleteClaim('data');
    },
  },
  {
    name: 'attributes-class',
    prepare: (world) => {
      addClass(world);
      const body = { driverName, parameters: { iops: '100' } };
      const type = { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttributesClass' };
      world.sim.server.seed({ ...type, metadata: { name: 'gold' }, ...body });
    },
    act: (world) => world.createClaim('data', { volumeAttributesClassName: 'gold' }),
  },
  {
    name: 'slow-create',
    prepare: (world) => {
      addClass(world);
      slowFirst(world, 12_000);
    },
    act: (world) => world.createClaim('data'),
  },
  {
    name: 'delete-while-creating',
    prepare: (world) => {
      addClass(world);
      slowFirst(world, 5000);
    },
    act: deleteWhileCreating,
    openWindows: [
      'crash after CreateVolume',
      'driver crash after CreateVolume',
      'crash before create persistentvolumes',
    ],
  },
  {
    name: 'delete-while-unsettled',
    prepare: (world) => {
      addClass(world);
      slowFirst(world, 25_000);
    },
    act: async (world) => {
      await world.createClaim('data');
      await world.clock.advance(15_000);
      await world.deleteClaim('data');
    },
  },
  {
    // No answer ever settles whether there is a volume: the claim is given up a minute after its deletion.
    name: 'delete-without-outcome',
    prepare: (world) => {
      addClass(world);
      const { faults } = world.driver;
      faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } });
      faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    },
    act: async (world) => {
      await world.createClaim('data');
      await world.clock.advance(15_000);
      await world.deleteClaim('data');
    },
  },
  {
    name: 'reschedule',
    zones: ['zone-east', 'zone-west'],
    prepare: (world) => {
      addClass(world, lateBinding);
      world.driver.faults.add({
        method: 'CreateVolume',
        times: 1,
        action: { kind: 'fail', code: 'ResourceExhausted' },
      });
    },
    act: async (world) => {
      await world.createClaim('data');
      await createPod(world, 'data');
    },
  },
  {
    name: 'too-small',
    prepare: (world) => {
      addClass(world);
      const action = { kind: 'answer', set: { volume: { capacity_bytes: '1024' } } } as const;
      world.driver.faults.add({ method: 'CreateVolume', times: 1, action });
    },
    act: (world) => world.createClaim('data'),
  },
  {
    name: 'save-later',
    prepare: (world) => {
      addClass(world);
      world.apiFaults.push({
        when: ({ verb, resource }) => verb === 'create' && resource === persistentVolumes.plural,
        times: 3,
        fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      });
    },
    act: (world) => world.createClaim('data'),
  },
  {
    name: 'deleted-and-recreated',
    prepare: async (world) => {
      addClass(world);
      await createAndBind(world);
    },
    act: async (world) => {
      await world.deleteClaim('data');
      await world.until(() => world.sim.server.objects.list(persistentVolumeClaims).length === 0);
      await createAndBind(world);
    },
  },
];
