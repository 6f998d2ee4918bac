// SPDX-License-Identifier: Apache-2.0
/**
 * A container: the whole program, from its arguments to its exit code, in a process that waits for its leases, leads, and ends. Then kubelet
 * starts the next one, whose memory is empty.
 */
import { silentLogger } from '@csi-sidecars/runtime';
import { runProcess } from '@csi-sidecars/runtime/internal';
import type { ScheduledProcess } from '@csi-sidecars/runtime/testing';
import type { ProgramDeps, ProgramHost } from '@csi-sidecars/sidecar';

export interface ContainerDeps {
  /** Another process for each start. */
  readonly process: (name: string) => ScheduledProcess;
  readonly host: (process: ScheduledProcess) => ProgramHost;
  readonly run: (deps: ProgramDeps) => Promise<number>;
  readonly note: (text: string) => void;
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

interface Started {
  readonly process: ScheduledProcess;
  readonly terminate: () => void;
}

export function startContainer(name: string, deps: ContainerDeps): Container {
  const kubelet = deps.process(`kubelet of ${name}`);
  let births = 0;
  let current: Started | undefined;
  let wanted: 0 | 1 = 1;

  function start(): void {
    if (wanted === 0 || current !== undefined) return;
    births += 1;
    const process = deps.process(`${name}#${births}`);
    process.onDeath((why) => {
      deps.note(`dies: ${why}`);
      current = undefined;
      kubelet.post(start, restartMs);
    });
    // The first task of the process: a container that kubelet has started may die before it.
    current = { process, terminate: run(process) };
  }

  /** Returns what SIGTERM does. */
  function run(process: ScheduledProcess): () => void {
    let terminate = (): void => process.kill('SIGTERM');
    const port: Parameters<typeof runProcess>[0]['process'] = {
      onSignal: (signal, listener) => void (signal === 'SIGTERM' && (terminate = listener)),
      onCrash: () => undefined,
      exit: (code) => process.kill(`exit code ${code}`),
    };
    const host = deps.host(process);
    process.post(
      () =>
        void runProcess({ process: port, clock: process.clock, logger: silentLogger }, async (lifecycle) => {
          try {
            return await deps.run({ host, lifecycle });
          } catch (error) {
            if (!process.isDead) deps.onDefect(`${name} ended: ${String((error as Error).stack)}`);
            throw error;
          }
        }),
    );
    return () => terminate();
  }

  function restart(): void {
    if (current === undefined) return;
    const { process, terminate } = current;
    deps.note('is asked to stop');
    process.post(terminate);
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
