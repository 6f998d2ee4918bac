// SPDX-License-Identifier: Apache-2.0
/** Flows of node deployment: the instance of one node under faults, that of another beside it. */
import { aNodeDeployment } from '@csi-sidecars/provisioner/testing';
import { addClass, createPod, type Flow, lateBinding } from './flows.ts';
import { provisionerWith } from './programs.ts';
import type { SidecarProgram } from './sidecar-process.ts';
import type { Simulation } from './simulation.ts';

const zone = 'zone-east';

function instanceOf(
  name: string,
  segments: Readonly<Record<string, string>>,
  competes: 'competes' | 'waits',
): SidecarProgram {
  const delays = { baseDelayMs: 20_000, maxDelayMs: 60_000 };
  return provisionerWith({
    strictTopology: true,
    node: aNodeDeployment(name, { segments, bindsImmediately: competes === 'competes', ...delays }),
  });
}

/** The other instance takes no claim by itself: the end is the same whatever the faults. */
const onTwoNodes = {
  zones: [zone],
  program: instanceOf(`node-${zone}`, { 'topology.example.com/zone': zone }, 'competes'),
  companions: [instanceOf('node-zone-west', { 'topology.example.com/zone': 'zone-west' }, 'waits')],
} as const;

function slowFirst(simulation: Simulation, ms: number): void {
  simulation.driver.faults.add({ method: 'CreateVolume', at: 'during', times: 1, action: { kind: 'delay', ms } });
}

async function bind(simulation: Simulation): Promise<void> {
  await simulation.createClaim('data');
  if (!(await simulation.until(() => simulation.isBound('data')))) throw new Error('the claim was never bound');
}

export const nodeDeploymentFlows: readonly Flow[] = [
  {
    ...onTwoNodes,
    name: 'node-immediate',
    prepare: (simulation) => addClass(simulation),
    act: (simulation) => simulation.createClaim('data'),
  },
  {
    ...onTwoNodes,
    name: 'node-late',
    prepare: (simulation) => addClass(simulation, lateBinding),
    act: async (simulation) => {
      await simulation.createClaim('data');
      await createPod(simulation, 'data');
    },
  },
  {
    // The driver says once that the node is full: its instance gives the claim back, and the scheduler chooses again.
    ...onTwoNodes,
    name: 'node-full',
    prepare: (simulation) => {
      addClass(simulation, lateBinding);
      const full = { kind: 'fail', code: 'ResourceExhausted' } as const;
      simulation.driver.faults.add({ method: 'CreateVolume', times: 1, action: full });
    },
    act: async (simulation) => {
      await simulation.createClaim('data');
      await createPod(simulation, 'data');
    },
  },
  {
    // The same for a claim that binds at once: all instances compete again.
    ...onTwoNodes,
    name: 'node-full-immediate',
    prepare: (simulation) => {
      addClass(simulation);
      const full = { kind: 'fail', code: 'ResourceExhausted' } as const;
      simulation.driver.faults.add({ method: 'CreateVolume', times: 1, action: full });
    },
    act: (simulation) => simulation.createClaim('data'),
  },
  {
    ...onTwoNodes,
    name: 'node-delete',
    prepare: async (simulation) => {
      addClass(simulation);
      await bind(simulation);
    },
    act: (simulation) => simulation.deleteClaim('data'),
  },
  {
    ...onTwoNodes,
    name: 'node-slow-create',
    prepare: (simulation) => {
      addClass(simulation);
      slowFirst(simulation, 12_000);
    },
    act: (simulation) => simulation.createClaim('data'),
  },
  {
    ...onTwoNodes,
    name: 'node-delete-while-unsettled',
    prepare: (simulation) => {
      addClass(simulation);
      slowFirst(simulation, 45_000);
    },
    act: async (simulation) => {
      await simulation.createClaim('data');
      const isProtected = () => simulation.claim('data')?.metadata?.finalizers?.length === 2;
      if (!(await simulation.until(isProtected, 120_000))) await simulation.clock.advance(1000);
      await simulation.deleteClaim('data');
    },
  },
];
