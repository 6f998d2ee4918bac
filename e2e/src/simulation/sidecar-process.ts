// SPDX-License-Identifier: Apache-2.0
/**
 * One process of a sidecar in the simulation: the real loops, client, caches and events over the simulation's API server and
 * driver. It starts with an empty memory and can die at any moment. Its program determines which sidecar it is.
 *
 * Guarantees: a request that a dead process had not sent never takes effect, and no answer reaches a dead process.
 */
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
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
import { driverInfoOf, type DriverModel } from '@csi-sidecars/test-driver';
import type { Operation, Trouble } from './trouble.ts';

export interface ProcessDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly driver: DriverModel;
  /** Called before each write and each call. */
  readonly onOperation: (operation: Operation, details: Readonly<Record<string, unknown>>) => Trouble | undefined;
  /** Faults of the API server that belong to the flow, not to the process. */
  readonly faultAt: (target: FaultTarget) => Fault | undefined;
  /** Called after each write and each call that took effect. */
  readonly afterOperation: () => void;
  readonly crashDriver: () => void;
  /** Called if two calls of this process about one volume overlap, which must never happen. */
  readonly onOverlap: (volume: string) => void;
}

export interface SidecarProcess {
  /** Aborts when the process dies, for any reason. */
  readonly death: AbortSignal;
  readonly kill: (why: string) => void;
  readonly client: ApiClient;
  /** Names of the volumes that it requested, whatever happened to them. */
  readonly requested: ReadonlySet<string>;
  /** Works as a leader until the signal aborts. Rejects with a defect. */
  readonly work: (signal: AbortSignal, gate?: StartGate) => Promise<void>;
}

/** The ports of a sidecar. */
export interface Parts extends ControllerPorts {
  readonly client: ApiClient;
  readonly channel: CsiChannel;
}

export interface SidecarProgram {
  readonly name: string;
  readonly create: (parts: Parts, driver: DriverInfo) => { run(signal: AbortSignal): Promise<void> };
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
      // The server accepts a request in the turn in which it is sent: the process dies right after that turn.
      if (trouble.moment === 'before') kill('crash before a write');
      else queueMicrotask(() => kill('crash after a write'));
      return { kind: 'hang', point: trouble.moment };
    },
  });
  const requested = new Set<string>();
  const inFlight = new Set<string>();
  const crashableTransport: Transport = (request) => whileAlive(death, () => transport(request), deps.afterOperation);
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
    { transport: crashableTransport, clock, logger: silentLogger },
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
      driverInfoOf(driver.settings),
    );
    await Promise.all([informers.start(signal), sidecar.run(signal)]);
  };
  return { death, kill, client, requested, work };
}

/** The name of the volume, snapshot or group that a call is about: from the request, or the name that the driver has for the handle. */
function volumeOf(driver: DriverModel, details: Readonly<Record<string, unknown>>): string {
  const known = [
    [details['volume_id'], driver.volumes()],
    [details['snapshot_id'], driver.snapshots()],
    [details['group_snapshot_id'], driver.groups()],
  ] as const;
  for (const [handle, records] of known) {
    if (typeof handle === 'string') return records.find(({ id }) => id === handle)?.name ?? handle;
  }
  return String(details['name']);
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
