// SPDX-License-Identifier: Apache-2.0
/** A container, as kubelet keeps it: whenever its process ends, the next one starts, whose memory is empty. */
import type { ScheduledProcess } from './schedule.ts';

export interface ContainerDeps {
  /** Another process for each start. */
  readonly process: (name: string) => ScheduledProcess;
  /** Begins the program in the process. Returns what SIGTERM does. */
  readonly run: (process: ScheduledProcess) => () => void;
  readonly onDeath: (process: ScheduledProcess, why: string) => void;
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

export function startContainer(name: string, { process: begin, run, onDeath }: ContainerDeps): Container {
  const kubelet = begin(`kubelet of ${name}`);
  let births = 0;
  let current: { readonly process: ScheduledProcess; readonly terminate: () => void } | undefined;
  let wanted: 0 | 1 = 1;

  function start(): void {
    if (wanted === 0 || current !== undefined) return;
    births += 1;
    const process = begin(`${name}#${births}`);
    process.onDeath((why) => {
      current = undefined;
      onDeath(process, why);
      kubelet.post(start, restartMs);
    });
    // The first task of the process: a container that kubelet has started may die before it.
    current = { process, terminate: run(process) };
  }

  function restart(): void {
    if (current === undefined) return;
    const { process, terminate } = current;
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
