// SPDX-License-Identifier: Apache-2.0
/** A container of csi-provisioner that is restarted: each of its processes is another candidate for the Lease. */
import { leases, OrderlyStop, silentLogger, type Random } from '@csi-sidecars/runtime';
import { createLeaderElector } from '@csi-sidecars/runtime/internal';
import { programs } from './programs.ts';
import { startProcess, type SidecarProcess } from './sidecar-process.ts';
import type { Operation, Trouble } from './trouble.ts';
import { namespace, type Simulation } from './simulation.ts';

export interface ReplicaOptions {
  readonly name: string;
  readonly random: Random;
  readonly note: (line: string) => void;
  readonly decide: (operation: Operation) => readonly [string, Trouble] | undefined;
  /** The calls of the process to the driver. */
  readonly onDeath: (requested: ReadonlySet<string>) => void;
}

export interface Replica {
  /** Violations that must never happen in a process. */
  readonly defects: readonly string[];
  /** Ends the process as by kill -9. */
  kill(): void;
  /** Ends the process as by SIGTERM: it finishes its calls and releases the Lease. */
  askToStop(): void;
  stop(): void;
}

const leaseName = 'provisioner';
const restartMs = 1000;

export function keepReplica(simulation: Simulation, { name, random, note, decide, onDeath }: ReplicaOptions): Replica {
  const { clock, sim } = simulation;
  const defects: string[] = [];
  let current: SidecarProcess | undefined;
  let asked = new AbortController();
  let isOver = false;

  function start(): void {
    if (isOver) return;
    if (!simulation.isDriverUp) return later();
    const identity = `${name}-${random.uuid()}`;
    const process = startProcess(programs['csi-provisioner'], {
      clock,
      random,
      transport: sim.server.transport,
      driver: simulation.driver,
      onOperation: (operation, details) => {
        if (operation.name === 'DeleteVolume') simulation.checks.beforeDeleteVolume(String(details['volume_id']));
        confirmLeader(identity, operation);
        const decided = decide(operation);
        const what = [details['name'], details['volume_id'], details['volume']].find(
          (each) => typeof each === 'string',
        );
        note(`${name} ${operation.name} ${what ?? ''}${decided === undefined ? '' : ` <- ${decided[0]}`}`);
        return decided?.[1];
      },
      faultAt: simulation.faultAt,
      afterOperation: () => simulation.checks.afterStep(),
      crashDriver: () => {
        note('the driver dies');
        simulation.crashDriver();
      },
      onOverlap: (volume) => defects.push(`${name}: two calls about ${volume} overlap`),
    });
    current = process;
    const stopping = new AbortController();
    asked = stopping;
    process.death.addEventListener('abort', () => {
      note(`${name} dies: ${String(process.death.reason)}`);
      stopping.abort(process.death.reason);
      onDeath(process.requested);
      later();
    });
    const elector = createLeaderElector(
      { client: process.client, clock, random, logger: silentLogger },
      { namespace, name: leaseName, identity, releaseOnExit: true },
    );
    elector
      .run(stopping.signal, (signal, gate) => process.work(signal, gate))
      .then(
        (result) => process.kill(`election: ${result}`),
        (error: unknown) => {
          if (!process.death.aborted) defects.push(`${name} ended: ${String(error)}`);
          process.kill('defect');
        },
      );
  }

  /** Exempt are events, which may be written late, and the election's own writes, with which a process becomes the holder. */
  function confirmLeader(identity: string, { name: operation }: Operation): void {
    if (operation.endsWith(' leases') || operation.endsWith(' events')) return;
    const holder = sim.server.objects.get(leases, { namespace, name: leaseName })?.spec?.holderIdentity;
    if (holder !== identity) defects.push(`${name}: ${operation} while the Lease is held by ${holder ?? 'no process'}`);
  }

  function later(): void {
    clock.timer(restartMs, start);
  }

  start();
  return {
    defects,
    kill: () => current?.kill('killed'),
    askToStop: () => {
      note(`${name} is asked to stop`);
      asked.abort(new OrderlyStop());
    },
    stop: () => {
      isOver = true;
      current?.kill('the simulation ends');
    },
  };
}
