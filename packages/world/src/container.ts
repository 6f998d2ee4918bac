// SPDX-License-Identifier: Apache-2.0
/** A whole program in a container, from its arguments to its exit code: it waits for its leases, leads, and ends. */
import { silentLogger } from '@csi-sidecars/runtime';
import { runProcess } from '@csi-sidecars/runtime/internal';
import { type Container, type ScheduledProcess, startContainer } from '@csi-sidecars/runtime/testing';
import type { ProgramDeps, ProgramHost } from '@csi-sidecars/sidecar';

export interface ProgramContainerDeps {
  /** Another process for each start. */
  readonly process: (name: string) => ScheduledProcess;
  readonly host: (process: ScheduledProcess) => ProgramHost;
  readonly run: (deps: ProgramDeps) => Promise<number>;
  readonly note: (text: string) => void;
  /** Called with an end that no program may have. */
  readonly onDefect: (text: string) => void;
}

export function startProgram(name: string, deps: ProgramContainerDeps): Container {
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

  const onDeath = (_process: ScheduledProcess, why: string): void => deps.note(`dies: ${why}`);
  const container = startContainer(name, { process: deps.process, run, onDeath });
  const asking = (act: () => void): void => {
    if (container.process() !== undefined) deps.note('is asked to stop');
    act();
  };
  return {
    ...container,
    restart: () => asking(container.restart),
    scaleTo: (replicas) => (replicas === 0 ? asking(() => container.scaleTo(0)) : container.scaleTo(1)),
  };
}
