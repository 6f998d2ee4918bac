// SPDX-License-Identifier: Apache-2.0
/**
 * A container of sidecars: its process waits for its leases, leads, and ends as the programs do; then kubelet starts the next one. A process
 * has a client, caches and a channel of its own, and begins with an empty memory. Several controllers in one process share their caches, and
 * one that loses its lease begins again by itself, as in `csi-sidecars`.
 */
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
import {
  type ApiClient,
  createApiClient,
  type Logger,
  noMetrics,
  OrderlyStop,
  type Transport,
} from '@csi-sidecars/runtime';
import { createInformerHub, openGate, runUnderLease, watchesOf, withCaches } from '@csi-sidecars/runtime/internal';
import { memoryFiles, type ScheduledProcess } from '@csi-sidecars/runtime/testing';
import { leaseNamespace } from './names.ts';
import type { Program } from './programs.ts';

export interface ContainerDeps {
  /** Another process for each start. */
  readonly process: (name: string) => ScheduledProcess;
  /** The API server as this process reaches it. */
  readonly transport: (process: ScheduledProcess) => Transport;
  /** The connection to the driver; undefined while the driver is down. */
  readonly connect: (process: ScheduledProcess) => CsiChannel | undefined;
  /** Without an election it works at once. */
  readonly isElected: boolean;
  readonly info: DriverInfo;
  readonly logger: Logger;
  readonly note: (text: string) => void;
  /** A controller has lost its Lease; its process goes on. */
  readonly onLoss: (process: ScheduledProcess) => void;
  /** Called with an end that no program may have. */
  readonly onDefect: (text: string) => void;
}

export interface Container {
  readonly name: string;
  /** Undefined while it is not running. */
  readonly process: () => ScheduledProcess | undefined;
  /** As kubelet does: SIGTERM, and kill -9 after the grace period. */
  readonly restart: () => void;
  readonly scaleTo: (replicas: 0 | 1) => void;
}

const restartMs = 1_000;
const graceMs = 30_000;
/** The defaults of the flags. */
const limits = { qps: 5, burst: 10 };

export function startContainer(programs: readonly Program[], name: string, deps: ContainerDeps): Container {
  const kubelet = deps.process(`kubelet of ${name}`);
  let births = 0;
  let current: { readonly process: ScheduledProcess; readonly stopping: AbortController } | undefined;
  let wanted: 0 | 1 = 1;

  function start(): void {
    if (wanted === 0 || current !== undefined) return;
    births += 1;
    const process = deps.process(`${name}#${births}`);
    const channel = deps.connect(process);
    if (channel === undefined) return later();
    const stopping = new AbortController();
    current = { process, stopping };
    process.onDeath((why) => {
      deps.note(`dies: ${why}`);
      current = undefined;
      later();
    });
    channel.lost.addEventListener('abort', () => process.kill('lost connection to CSI driver'));
    runProgram(process, { programs, channel, name, ...deps }, stopping.signal).then(
      (how) => process.kill(how),
      (error: unknown) => {
        if (process.isDead) return;
        deps.onDefect(`${name} ended: ${String((error as Error).stack)}`);
        process.kill('defect');
      },
    );
  }

  function later(): void {
    kubelet.post(start, restartMs);
  }

  function restart(): void {
    if (current === undefined) return;
    const { process, stopping } = current;
    deps.note('is asked to stop');
    process.post(() => stopping.abort(new OrderlyStop()));
    kubelet.post(() => process.kill('still there after the grace period'), graceMs);
  }

  start();
  return {
    name,
    process: () => current?.process,
    restart,
    scaleTo(replicas) {
      wanted = replicas;
      if (replicas === 1) start();
      else restart();
    },
  };
}

interface Run extends ContainerDeps {
  readonly name: string;
  readonly programs: readonly Program[];
  readonly channel: CsiChannel;
}

/** Resolves when the process has to end. */
async function runProgram(process: ScheduledProcess, run: Run, signal: AbortSignal): Promise<string> {
  const { clock, random } = process;
  const { programs, channel, name, info, logger } = run;
  const transport = run.transport(process);
  const clientOf = (userAgent: string): ApiClient =>
    createApiClient({ transport, clock, logger }, { userAgent, ...limits });
  const leaseClient = clientOf('leader-election');
  const isCombined = programs.length > 1;
  // A registry keeps the gauges that were made for it, so each process has its own.
  const metrics = { ...noMetrics };
  const hub = createInformerHub({ client: clientOf(name), clock, random, logger, metrics });

  const portsOf = (program: Program) => ({
    client: clientOf(program.name),
    clock,
    random,
    logger,
    metrics,
  });
  const leadingWork = (program: Program): ReturnType<typeof withCaches> => {
    const assemble: Parameters<typeof withCaches>[1] = (ports) => program.assemble(ports, { info, channel });
    const ports = portsOf(program);
    if (isCombined) hub.announce(watchesOf(ports, assemble));
    const createInformers = isCombined ? () => hub.factoryFor(program.name) : undefined;
    return withCaches({ ...ports, env: {}, createInformers }, assemble);
  };
  const lead = (program: Program): ReturnType<typeof runUnderLease> =>
    runUnderLease(
      {
        ...portsOf(program),
        files: memoryFiles({}),
        env: {},
        hostName: name,
        connect: async () => ({ client: leaseClient, close: async () => undefined }),
        onElector: () => undefined,
      },
      {
        name: program.lockName(info.name),
        namespace: leaseNamespace,
        releaseOnExit: true,
        work: leadingWork(program),
      },
      signal,
    );

  if (!run.isElected) {
    await leadingWork(programs[0]!)(signal, openGate);
    return 'ended: stopped';
  }
  if (!isCombined) return `ended: ${await lead(programs[0]!)}`;
  await Promise.all(
    programs.map(async (program) => {
      while (!signal.aborted) {
        await lead(program);
        run.onLoss(process);
        if (!signal.aborted) await clock.sleep(restartMs);
      }
    }),
  );
  return 'ended: stopped';
}
