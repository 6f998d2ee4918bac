// SPDX-License-Identifier: Apache-2.0
/** The stories of csi-resizer: what users and the driver do with a volume that is there. */
import { type PersistentVolumeClaim, persistentVolumeClaims, volumeAttributesClasses } from '@csi-sidecars/runtime';
import { prepareBoundClaim } from './bound-claim.ts';
import { addClass, type Flow } from './flows.ts';
import { programs } from './programs.ts';
import { driverName, namespace, type Simulation } from './simulation.ts';

type ClaimStatus = NonNullable<PersistentVolumeClaim['status']>;

async function prepare(simulation: Simulation): Promise<void> {
  addClass(simulation, { allowVolumeExpansion: true });
  await prepareBoundClaim(simulation);
  for (const tier of ['gold', 'silver']) {
    const metadata = { name: tier };
    await simulation.sim.client.create(volumeAttributesClasses, { metadata, driverName, parameters: { tier } });
  }
}

async function change({ sim }: Simulation, spec: object): Promise<void> {
  const target = { resource: persistentVolumeClaims, ref: { namespace, name: 'data' } };
  await sim.client.patch(target, { type: 'merge', body: { spec } });
}
const ask = (simulation: Simulation, storage: string): Promise<void> =>
  change(simulation, { resources: { requests: { storage } } });
const want = (simulation: Simulation, name: string): Promise<void> =>
  change(simulation, { volumeAttributesClassName: name });

const [expand, modify] = ['ControllerExpandVolume', 'ControllerModifyVolume'];
const refuse = (simulation: Simulation, method: string, code: 'Internal' | 'Unavailable'): void =>
  void simulation.driver.faults.add({ method, times: 2, action: { kind: 'fail', code } });
const slow = (simulation: Simulation, method: string, ms: number): void =>
  void simulation.driver.faults.add({ method, at: 'during', times: 1, action: { kind: 'delay', ms } });

const never = (simulation: Simulation, method: string, code: 'OutOfRange' | 'InvalidArgument'): string =>
  simulation.driver.faults.add({ method, action: { kind: 'fail', code } });

/** Waits until the claim shows it: then what came before is recorded, whatever happened meanwhile. */
async function untilStatus(simulation: Simulation, check: (status: ClaimStatus) => boolean): Promise<void> {
  if (!(await simulation.until(() => check(simulation.claim('data')?.status ?? {}))))
    throw new Error('the claim never got there');
}
const resizeIs =
  (wanted: string) =>
  ({ allocatedResourceStatuses }: ClaimStatus): boolean =>
    allocatedResourceStatuses?.['storage'] === wanted;

/** As by kubelet. */
async function reportAsNode({ sim }: Simulation, status: object): Promise<void> {
  const target = { resource: persistentVolumeClaims, ref: { namespace, name: 'data' } };
  await sim.client.patch(target, { type: 'merge', body: { status } }, { subresource: 'status' });
}
const finishOnNode = (simulation: Simulation, storage: string): Promise<void> =>
  reportAsNode(simulation, { capacity: { storage }, allocatedResourceStatuses: null, conditions: null });

const base = { program: programs['csi-resizer'], expands: 'without node', prepare } as const;

export const resizeFlows: readonly Flow[] = [
  { ...base, name: 'expand', act: (simulation) => ask(simulation, '2Gi') },
  {
    ...base,
    name: 'failed-expand',
    prepare: async (simulation) => {
      await prepare(simulation);
      refuse(simulation, expand, 'Internal');
    },
    act: (simulation) => ask(simulation, '2Gi'),
  },
  {
    ...base,
    name: 'slow-expand',
    prepare: async (simulation) => {
      await prepare(simulation);
      slow(simulation, expand, 20_000);
    },
    act: (simulation) => ask(simulation, '2Gi'),
  },
  {
    ...base,
    name: 'raise-while-expanding',
    prepare: async (simulation) => {
      await prepare(simulation);
      slow(simulation, expand, 8_000);
    },
    act: async (simulation) => {
      await ask(simulation, '2Gi');
      await simulation.clock.advance(3_000);
      await ask(simulation, '3Gi');
    },
  },
  { ...base, name: 'modify', act: (simulation) => want(simulation, 'gold') },
  {
    ...base,
    name: 'failed-modify',
    prepare: async (simulation) => {
      await prepare(simulation);
      refuse(simulation, modify, 'Unavailable');
    },
    act: (simulation) => want(simulation, 'gold'),
  },
  {
    ...base,
    name: 'another-class-while-modifying',
    prepare: async (simulation) => {
      await prepare(simulation);
      slow(simulation, modify, 8_000);
    },
    act: async (simulation) => {
      await want(simulation, 'gold');
      await simulation.clock.advance(3_000);
      await want(simulation, 'silver');
    },
  },
  {
    ...base,
    name: 'expand-and-modify',
    act: (simulation) =>
      change(simulation, { resources: { requests: { storage: '2Gi' } }, volumeAttributesClassName: 'gold' }),
  },
  {
    ...base,
    name: 'recover-from-refused-size',
    act: async (simulation) => {
      const refusal = never(simulation, expand, 'OutOfRange');
      await ask(simulation, '4Gi');
      await untilStatus(simulation, resizeIs('ControllerResizeInfeasible'));
      simulation.driver.faults.remove(refusal);
      await ask(simulation, '2Gi');
    },
  },
  {
    ...base,
    name: 'expand-with-node',
    expands: 'with node',
    act: async (simulation) => {
      await ask(simulation, '2Gi');
      await untilStatus(simulation, resizeIs('NodeResizePending'));
      await finishOnNode(simulation, '2Gi');
    },
  },
  {
    ...base,
    name: 'recover-from-failure-on-node',
    expands: 'with node',
    act: async (simulation) => {
      await ask(simulation, '4Gi');
      await untilStatus(simulation, resizeIs('NodeResizePending'));
      await reportAsNode(simulation, { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } });
      await ask(simulation, '3Gi');
      await untilStatus(simulation, resizeIs('NodeResizePending'));
      await finishOnNode(simulation, '4Gi');
    },
  },
  {
    ...base,
    name: 'back-from-refused-class',
    prepare: async (simulation) => {
      await prepare(simulation);
      await want(simulation, 'silver');
      await untilStatus(simulation, ({ currentVolumeAttributesClassName: name }) => name === 'silver');
    },
    act: async (simulation) => {
      const refusal = never(simulation, modify, 'InvalidArgument');
      await want(simulation, 'gold');
      await untilStatus(simulation, ({ modifyVolumeStatus }) => modifyVolumeStatus?.status === 'Infeasible');
      simulation.driver.faults.remove(refusal);
      await want(simulation, 'silver');
    },
  },
];
