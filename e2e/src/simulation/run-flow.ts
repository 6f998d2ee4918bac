// SPDX-License-Identifier: Apache-2.0
/**
 * One run of a flow, with a fault at one of its writes or calls, or without. A process that dies is started again; the run
 * ends when no write or call has happened for so long that none will follow.
 */
import { seededRandom } from '@csi-sidecars/runtime/testing';
import type { Flow } from './flows.ts';
import { checkWhenQuiet } from './invariants.ts';
import { programs } from './programs.ts';
import { startProcess, type SidecarProcess, type SidecarProgram } from './sidecar-process.ts';
import type { Operation, Trouble } from './trouble.ts';
import { createSimulation, type Simulation } from './simulation.ts';

export interface Strike {
  /** Number of the operation, counted from the first one after the preparation. */
  readonly index: number;
  readonly trouble: Trouble;
}

export interface Ending {
  readonly operations: readonly Operation[];
  readonly leaked: readonly string[];
  readonly breaches: readonly string[];
  readonly state: readonly string[];
}

const restartMs = 1000;
const stepMs = 30_000;
/** More than the longest pause between two attempts: 5 minutes. */
const quietSteps = 11;
const stepLimit = 120;

export async function runFlow(flow: Flow, strike?: Strike): Promise<Ending> {
  const { program = programs['csi-provisioner'], zones = [] } = flow;
  const simulation = createSimulation({
    zones,
    attachTo: flow.attachTo ?? [],
    expands: flow.expands,
    snapshots: flow.snapshots,
    clones: flow.clones,
    capacity: flow.capacity,
  });
  const operations: Operation[] = [];
  let isArmed = false;
  let steps = 0;
  const keeper = keepRunning(simulation, program, (operation, details) => {
    if (!isRepeated(operation)) steps += 1;
    // A fault at a call for capacity may matter.
    if (operation.name === 'ListVolumes') return undefined;
    if (operation.name === 'DeleteVolume') simulation.checks.beforeDeleteVolume(String(details['volume_id']));
    if (!isArmed) return undefined;
    operations.push(operation);
    return operations.length - 1 === strike?.index ? strike.trouble : undefined;
  });
  const companions = (flow.companions ?? []).map((companion) =>
    keepRunning(simulation, companion, (operation) => {
      if (!isRepeated(operation)) steps += 1;
      return undefined;
    }),
  );
  await flow.prepare(simulation);
  await simulation.clock.advance(10_000);
  isArmed = true;
  await flow.act(simulation);
  const isQuiet = await untilQuiet(simulation, () => steps);
  const { leaked, breaches } = checkWhenQuiet({ server: simulation.sim.server, driver: simulation.driver });
  const state = simulation.endState();
  for (const each of [keeper, ...companions]) each.stop();
  await simulation.stop();
  const endless = isQuiet ? [] : ['work never ends'];
  return {
    operations,
    leaked,
    state,
    breaches: [
      ...simulation.checks.breaches,
      ...breaches,
      ...[keeper, ...companions].flatMap(({ defects }) => defects),
      ...endless,
    ],
  };
}

/** These calls are repeated for ever and change nothing. */
function isRepeated({ name }: Operation): boolean {
  return name === 'ListVolumes' || name === 'GetCapacity';
}

interface Keeper {
  readonly defects: readonly string[];
  stop(): void;
}

/** Runs one process of the program at a time, until the simulation ends. */
function keepRunning(
  simulation: Simulation,
  program: SidecarProgram,
  onOperation: (operation: Operation, details: Readonly<Record<string, unknown>>) => Trouble | undefined,
): Keeper {
  const defects: string[] = [];
  let current: SidecarProcess | undefined;
  let isOver = false;
  let births = 0;

  function start(): void {
    if (isOver) return;
    if (!simulation.isDriverUp) return later();
    const process = startProcess(program, {
      clock: simulation.clock,
      random: seededRandom(++births),
      transport: simulation.sim.server.transport,
      driver: simulation.driver,
      onOperation,
      faultAt: simulation.faultAt,
      afterOperation: () => simulation.checks.afterStep(),
      crashDriver: () => simulation.crashDriver(),
      onOverlap: (volume) => defects.push(`two calls about ${volume} overlap`),
    });
    current = process;
    process.death.addEventListener('abort', later, { once: true });
    process.work(process.death).catch((error: unknown) => {
      if (!process.death.aborted) defects.push(`the process ended: ${String(error)}`);
    });
  }
  function later(): void {
    simulation.clock.timer(restartMs, start);
  }
  start();
  return {
    defects,
    stop: () => {
      isOver = true;
      current?.kill('the simulation ends');
    },
  };
}

async function untilQuiet({ clock }: Simulation, count: () => number): Promise<boolean> {
  let unchanged = 0;
  for (let step = 0; step < stepLimit; step++) {
    const before = count();
    await clock.advance(stepMs);
    unchanged = count() === before ? unchanged + 1 : 0;
    if (unchanged >= quietSteps) return true;
  }
  return false;
}
