// SPDX-License-Identifier: Apache-2.0
/**
 * The flows whose every write and call is tested with faults. A flow is a sequence of actions of users and the driver, independent of
 * crashes. `openWindows` names the points at which the provisioner's page documents a possible leak: only there one volume
 * may be left behind.
 */
import type { PersistentVolumeClaim, Pod, StorageClass } from '@csi-sidecars/runtime';
import { persistentVolumeClaims, persistentVolumes, pods } from '@csi-sidecars/runtime';
import type { SidecarProgram } from './sidecar-process.ts';
import { driverName, type Expanding, namespace, type Simulation, type TakingSnapshots } from './simulation.ts';

export interface Flow {
  readonly name: string;
  /** Default csi-provisioner. */
  readonly program?: SidecarProgram;
  /** One node in each. Default none. */
  readonly zones?: readonly string[];
  /** Nodes to which the driver attaches volumes. Default none: the driver cannot attach. */
  readonly attachTo?: readonly string[];
  /** Programs that run beside it, without faults. Default none. */
  readonly companions?: readonly SidecarProgram[];
  /** How the driver takes snapshots. Default: not at all. */
  readonly snapshots?: TakingSnapshots;
  /** Whether the driver clones volumes. Default: not. */
  readonly clones?: 'volumes';
  /** How the driver expands volumes. Default: not at all. */
  readonly expands?: Expanding;
  /** Whether the driver reports capacity. Default: not. */
  readonly capacity?: 'reported';
  /** The preparation, which runs without faults and is not enumerated. */
  readonly prepare: (simulation: Simulation) => Promise<void> | void;
  readonly act: (simulation: Simulation) => Promise<void>;
  /** Names of points without their number, e.g. `crash after CreateVolume`. Default none. */
  readonly openWindows?: readonly string[];
}

export function addClass(simulation: Simulation, storageClass: Partial<StorageClass> = {}): void {
  simulation.sim.server.seed<StorageClass>({
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
export async function createPod({ sim }: Simulation, name: string): Promise<void> {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: name } }];
  const pod: Pod = {
    metadata: { namespace, name },
    spec: { containers: [{ name: 'app', image: 'app' }], volumes },
  };
  await sim.client.create(pods, pod);
}

async function createAndBind(simulation: Simulation, spec?: Partial<PersistentVolumeClaim['spec']>): Promise<void> {
  await simulation.createClaim('data', spec);
  if (!(await simulation.until(() => simulation.isBound('data')))) throw new Error('the claim was never bound');
}

/** The user deletes the claim while the driver creates the volume. */
async function deleteWhileCreating(simulation: Simulation): Promise<void> {
  await simulation.createClaim('data');
  await simulation.until(() => simulation.driver.calls.some(({ method }) => method.endsWith('/CreateVolume')), 60_000);
  await simulation.clock.advance(1000);
  await simulation.deleteClaim('data');
}

/** The first answer of the driver. */
function slowFirst(simulation: Simulation, ms: number): void {
  simulation.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms } });
}

export const flows: readonly Flow[] = [
  {
    name: 'create',
    prepare: (simulation) => addClass(simulation),
    act: (simulation) => simulation.createClaim('data'),
  },
  {
    name: 'delete',
    prepare: async (simulation) => {
      addClass(simulation);
      await createAndBind(simulation);
    },
    act: (simulation) => simulation.deleteClaim('data'),
  },
  {
    name: 'late-binding',
    zones: ['zone-east', 'zone-west'],
    prepare: (simulation) => addClass(simulation, lateBinding),
    act: async (simulation) => {
      await simulation.createClaim('data');
      await createPod(simulation, 'data');
    },
  },
  {
    name: 'secret',
    prepare: (simulation) => {
      addClass(simulation, {
        parameters: {
          'csi.storage.k8s.io/provisioner-secret-name': 'login',
          'csi.storage.k8s.io/provisioner-secret-namespace': namespace,
        },
      });
      const metadata = { namespace, name: 'login' };
      simulation.sim.server.seed({ apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'eA==' } });
    },
    act: async (simulation) => {
      await createAndBind(simulation);
      await simulation.clock.advance(5000);
      await simulation.deleteClaim('data');
    },
  },
  {
    name: 'attributes-class',
    prepare: (simulation) => {
      addClass(simulation);
      const body = { driverName, parameters: { iops: '100' } };
      const type = { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttributesClass' };
      simulation.sim.server.seed({ ...type, metadata: { name: 'gold' }, ...body });
    },
    act: (simulation) => simulation.createClaim('data', { volumeAttributesClassName: 'gold' }),
  },
  {
    name: 'slow-create',
    prepare: (simulation) => {
      addClass(simulation);
      slowFirst(simulation, 12_000);
    },
    act: (simulation) => simulation.createClaim('data'),
  },
  {
    name: 'delete-while-creating',
    prepare: (simulation) => {
      addClass(simulation);
      slowFirst(simulation, 5000);
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
    prepare: (simulation) => {
      addClass(simulation);
      slowFirst(simulation, 25_000);
    },
    act: async (simulation) => {
      await simulation.createClaim('data');
      await simulation.clock.advance(15_000);
      await simulation.deleteClaim('data');
    },
  },
  {
    // No answer ever settles whether there is a volume: the claim is given up a minute after its deletion.
    name: 'delete-without-outcome',
    prepare: (simulation) => {
      addClass(simulation);
      const { faults } = simulation.driver;
      faults.add({ method: 'CreateVolume', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } });
      faults.add({ method: 'CreateVolume', action: { kind: 'fail', code: 'Internal' } });
    },
    act: async (simulation) => {
      await simulation.createClaim('data');
      await simulation.clock.advance(15_000);
      await simulation.deleteClaim('data');
    },
  },
  {
    name: 'reschedule',
    zones: ['zone-east', 'zone-west'],
    prepare: (simulation) => {
      addClass(simulation, lateBinding);
      simulation.driver.faults.add({
        method: 'CreateVolume',
        times: 1,
        action: { kind: 'fail', code: 'ResourceExhausted' },
      });
    },
    act: async (simulation) => {
      await simulation.createClaim('data');
      await createPod(simulation, 'data');
    },
  },
  {
    name: 'too-small',
    prepare: (simulation) => {
      addClass(simulation);
      const action = { kind: 'answer', set: { volume: { capacity_bytes: '1024' } } } as const;
      simulation.driver.faults.add({ method: 'CreateVolume', times: 1, action });
    },
    act: (simulation) => simulation.createClaim('data'),
  },
  {
    name: 'save-later',
    prepare: (simulation) => {
      addClass(simulation);
      simulation.apiFaults.push({
        when: ({ verb, resource }) => verb === 'create' && resource === persistentVolumes.plural,
        times: 3,
        fault: { kind: 'status', point: 'before', code: 500, reason: 'InternalError' },
      });
    },
    act: (simulation) => simulation.createClaim('data'),
  },
  {
    name: 'deleted-and-recreated',
    prepare: async (simulation) => {
      addClass(simulation);
      await createAndBind(simulation);
    },
    act: async (simulation) => {
      await simulation.deleteClaim('data');
      await simulation.until(() => simulation.sim.server.objects.list(persistentVolumeClaims).length === 0);
      await createAndBind(simulation);
    },
  },
];
