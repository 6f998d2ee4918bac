// SPDX-License-Identifier: Apache-2.0
/**
 * One process of a sidecar in the simulation: the real loops, client, caches and events over the world's API server and
 * driver. It starts with an empty memory and can die at any moment. Which sidecar it is is said by its program.
 *
 * Guarantees: what a dead process had not sent never takes effect, and what it was waiting for never reaches it.
 */
import type { CsiChannel, DriverFacts } from '@csi-sidecars/csi';
import {
  createApiClient,
  createInformerFactory,
  noMetrics,
  silentLogger,
  type ApiClient,
  type Clock,
  type Random,
  type Transport,
  type ControllerPorts,
} from '@csi-sidecars/runtime';
import { createWorkQueueMetrics, type StartGate } from '@csi-sidecars/runtime/internal';
import { withFaults, type Fault, type FaultTarget } from '@csi-sidecars/runtime/testing';
import { factsOf, type DriverModel } from '@csi-sidecars/test-driver';
import type { Operation, Trouble } from './trouble.ts';

export interface ProcessDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly driver: DriverModel;
  /** Asked before each write and each call. */
  readonly onOperation: (operation: Operation, details: Readonly<Record<string, unknown>>) => Trouble | undefined;
  /** Faults of the API server that belong to the story, not to the process. */
  readonly faultAt: (target: FaultTarget) => Fault | undefined;
  /** After each write and each call that took effect. */
  readonly afterOperation: () => void;
  readonly crashDriver: () => void;
  /** Two calls of this process about one volume overlap, which must never be. */
  readonly onOverlap: (volume: string) => void;
}

export interface SidecarProcess {
  /** Aborts when it dies, for whatever reason. */
  readonly death: AbortSignal;
  readonly kill: (why: string) => void;
  readonly client: ApiClient;
  /** Names of the volumes it asked for, whatever became of them. */
  readonly requested: ReadonlySet<string>;
  /** The work of a leader: until the signal aborts. Rejects with a defect. */
  readonly work: (signal: AbortSignal, gate?: StartGate) => Promise<void>;
}

/** What a sidecar is given. */
export interface Parts extends ControllerPorts {
  readonly client: ApiClient;
  readonly channel: CsiChannel;
}

export interface SidecarProgram {
  readonly name: string;
  readonly create: (parts: Parts, driver: DriverFacts) => { run(signal: AbortSignal): Promise<void> };
}

export function startProcess(program: SidecarProgram, deps: ProcessDeps): SidecarProcess {
  const { clock, random, driver } = deps;
  const end = new AbortController();
  const death = end.signal;
  const kill = (why: string): void => end.abort(new Error(why));
  const connection = driver.channel();
  connection.lost.addEventListener('abort', () => kill('lost connection to CSI driver'), { once: true, signal: death });

  const transport = withFaults(deps.transport, {
    clock,
    decide: (target) => {
      const fault = deps.faultAt(target);
      const isRead = ['get', 'list', 'watch'].includes(target.verb);
      if (fault !== undefined || isRead) return fault;
      const name = `${target.verb} ${target.resource}`;
      const trouble = deps.onOperation({ kind: 'write', name }, { volume: target.name });
      if (trouble?.kind === 'answer') return trouble.fault;
      if (trouble?.kind !== 'crash') return undefined;
      // The server takes a request in the turn in which it is sent: the process dies right after that turn.
      if (trouble.moment === 'before') kill('crash before a write');
      else queueMicrotask(() => kill('crash after a write'));
      return { kind: 'hang', point: trouble.moment };
    },
  });
  const requested = new Set<string>();
  const inFlight = new Set<string>();
  const mortal: Transport = (request) => whileAlive(death, () => transport(request), deps.afterOperation);
  const channel: CsiChannel = {
    ...connection,
    call: (method, request, options) =>
      whileAlive(
        death,
        async () => {
          const name = method.split('/').at(-1) ?? '';
          const details = request as Readonly<Record<string, unknown>>;
          const trouble = deps.onOperation({ kind: 'call', name }, details);
          const strike = trouble?.kind === 'driverCrash' ? deps.crashDriver : () => kill(`crash at ${name}`);
          if (trouble?.kind !== 'answer' && trouble?.moment === 'before') {
            strike();
            return await never();
          }
          const volume = volumeOf(driver, details);
          if (name === 'CreateVolume') requested.add(volume);
          if (inFlight.has(volume)) deps.onOverlap(volume);
          inFlight.add(volume);
          try {
            return await connection.call(method, request, options);
          } finally {
            inFlight.delete(volume);
            if (trouble !== undefined) strike();
          }
        },
        deps.afterOperation,
      ),
  };

  const client = createApiClient(
    { transport: mortal, clock, logger: silentLogger },
    { userAgent: program.name, qps: -1, burst: 1 },
  );
  const base = { client, clock, random, logger: silentLogger };
  const work = async (signal: AbortSignal, gate?: StartGate): Promise<void> => {
    const informers = createInformerFactory(base);
    const sidecar = program.create(
      {
        ...base,
        client,
        channel,
        informers,
        metrics: noMetrics,
        queueMetrics: createWorkQueueMetrics(noMetrics),
        ...(gate === undefined ? {} : { gate }),
      },
      factsOf(driver.settings),
    );
    await Promise.all([informers.start(signal), sidecar.run(signal)]);
  };
  return { death, kill, client, requested, work };
}

/** The name of the volume that a call is about: its own, or that of the handle as far as the driver knows it. */
function volumeOf(driver: DriverModel, details: Readonly<Record<string, unknown>>): string {
  const handle = details['volume_id'];
  if (typeof handle !== 'string') return String(details['name']);
  return driver.volumes().find(({ id }) => id === handle)?.name ?? handle;
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

async function whileAlive<T>(death: AbortSignal, step: () => Promise<T>, after: () => void): Promise<T> {
  if (death.aborted) return await never();
  try {
    return await step();
  } finally {
    if (death.aborted) await never();
    after();
  }
}
