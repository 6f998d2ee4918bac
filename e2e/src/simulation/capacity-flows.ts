// SPDX-License-Identifier: Apache-2.0
/** The flows of published storage capacity, with faults at csi-provisioner. The state at the end has one object for each item. */
import { nodes, storageClasses } from '@csi-sidecars/runtime';
import { addClass, type Flow } from './flows.ts';
import { provisionerWith } from './programs.ts';
import { namespace, type Simulation } from './simulation.ts';

const zones = ['zone-east', 'zone-west'];
const zoneKey = 'topology.example.com/zone';
const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'driver', uid: 'uid-of-driver', controller: true };

/** Rare polls keep the number of points small; without them a change of the driver's capacity would never be seen. */
const publishing = provisionerWith({}, { namespace, owner, immediateBinding: true, pollIntervalMs: 150_000 });

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
