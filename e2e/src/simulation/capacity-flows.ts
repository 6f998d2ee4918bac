// SPDX-License-Identifier: Apache-2.0
/** The flows of published storage capacity, with faults at csi-provisioner. The state at the end has one object for each item. */
import { aNodeDeployment, managedByOf } from '@csi-sidecars/provisioner/testing';
import { type CSIStorageCapacity, csiStorageCapacities, nodes, storageClasses } from '@csi-sidecars/runtime';
import { addClass, createPod, type Flow, lateBinding } from './flows.ts';
import { provisionerWith } from './programs.ts';
import type { SidecarProgram } from './sidecar-process.ts';
import { driverName, namespace, type Simulation } from './simulation.ts';

const zones = ['zone-east', 'zone-west'];
const zoneKey = 'topology.example.com/zone';
const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'driver', uid: 'uid-of-driver', controller: true };

/** Rare polls keep the number of points small; without them a change of the driver's capacity would never be seen. */
const settings = { namespace, owner, immediateBinding: true, pollIntervalMs: 150_000 };
const publishing = provisionerWith({}, settings);

/** The instance of a node, which publishes the capacity of its zone. It takes no claim by itself. */
function instanceOf(zone: string): SidecarProgram {
  const name = `node-${zone}`;
  const node = aNodeDeployment(name, { segments: { [zoneKey]: zone }, bindsImmediately: false });
  return provisionerWith({ strictTopology: true, node }, { ...settings, managedBy: managedByOf(name) });
}

function reportLess(simulation: Simulation): void {
  const set = { available_capacity: '1048576' };
  simulation.driver.faults.add({
    method: 'GetCapacity',
    action: { kind: 'answer', set, unset: ['maximum_volume_size'] },
  });
}

interface Story {
  readonly name: string;
  readonly prepare: (simulation: Simulation) => void;
  readonly act: (simulation: Simulation) => Promise<void> | void;
}

const stories: readonly Story[] = [
  { name: 'publish', prepare: () => undefined, act: (simulation) => addClass(simulation) },
  { name: 'update', prepare: (simulation) => addClass(simulation), act: reportLess },
  {
    name: 'withdraw-class',
    prepare: (simulation) => addClass(simulation),
    act: ({ sim }) => sim.server.objects.delete(storageClasses, { name: 'fast' }),
  },
  {
    name: 'move-node',
    prepare: (simulation) => addClass(simulation),
    act: ({ sim }) => {
      sim.server.objects.change(nodes, { name: 'node-zone-east' }, (node) => ({
        ...node,
        metadata: { ...node.metadata, labels: { ...node.metadata?.labels, [zoneKey]: 'zone-north' } },
      }));
    },
  },
  {
    name: 'take-capacity',
    prepare: (simulation) => addClass(simulation),
    act: async (simulation) => {
      reportLess(simulation);
      await simulation.createClaim('data');
    },
  },
];

export const capacityFlows: readonly Flow[] = stories.map(({ name, prepare, act }): Flow => ({
  name: `capacity-${name}`,
  program: publishing,
  zones,
  capacity: 'reported',
  prepare,
  act: async (simulation) => await act(simulation),
}));

const ownZone = 'zone-east';

/** What an earlier instance of the node has left: the owner of the objects, and an object of a zone that the node was in. */
function leaveObjects({ sim: { server } }: Simulation): void {
  const mine = (object: CSIStorageCapacity): boolean => object.nodeTopology?.matchLabels?.[zoneKey] === ownZone;
  const found = server.objects.list(csiStorageCapacities).find(mine);
  const earlier = { ...owner, name: 'earlier', uid: 'uid-of-earlier' };
  const ref = { namespace, name: found?.metadata?.name ?? '' };
  server.objects.change(csiStorageCapacities, ref, (object) => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: [earlier] },
  }));
  server.seed<CSIStorageCapacity>({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: {
      name: 'left-over',
      namespace,
      labels: {
        'csi.storage.k8s.io/drivername': driverName,
        'csi.storage.k8s.io/managed-by': managedByOf(`node-${ownZone}`),
      },
      ownerReferences: [earlier],
    },
    storageClassName: 'fast',
    nodeTopology: { matchLabels: { [zoneKey]: 'zone-north' } },
    capacity: '1Ti',
  });
}

const nodeStories: readonly Story[] = [
  { name: 'publish', prepare: () => undefined, act: (simulation) => addClass(simulation) },
  { name: 'update', prepare: (simulation) => addClass(simulation), act: reportLess },
  {
    name: 'withdraw-class',
    prepare: (simulation) => addClass(simulation),
    act: ({ sim }) => sim.server.objects.delete(storageClasses, { name: 'fast' }),
  },
  { name: 'adopt', prepare: (simulation) => addClass(simulation), act: leaveObjects },
  {
    name: 'take-capacity',
    prepare: (simulation) => addClass(simulation, lateBinding),
    act: async (simulation) => {
      reportLess(simulation);
      await simulation.createClaim('data');
      await createPod(simulation, 'data');
    },
  },
];

/** The faults strike the instance of the only node; that of another node publishes beside it. */
export const nodeCapacityFlows: readonly Flow[] = nodeStories.map(({ name, prepare, act }): Flow => ({
  name: `node-capacity-${name}`,
  program: instanceOf(ownZone),
  companions: [instanceOf('zone-west')],
  zones: [ownZone],
  capacity: 'reported',
  prepare,
  act: async (simulation) => await act(simulation),
}));
