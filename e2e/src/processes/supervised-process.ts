// SPDX-License-Identifier: Apache-2.0
/**
 * A process that is kept running, as a kubelet keeps a container: whenever it ends, however it ends, it is started again
 * at once. Every end is recorded. Scenarios kill, freeze and stop it here; only after `stop` it stays down.
 */
import type { Clock } from '@csi-sidecars/runtime';
import { startProcess, type ChildProcess, type Exit, type ProcessSpec } from './child-process.ts';

/** A kubelet would back off; here the pause only prevents that a program that cannot start uses a whole core. */
const restartDelayMs = 200;

export interface SupervisedProcess extends AsyncDisposable {
  readonly name: string;
  readonly logFile: string;
  /** Undefined between two runs, or when stopped. */
  readonly pid: number | undefined;
  /** One per run that has ended, oldest first. */
  readonly exits: readonly Exit[];
  /** Does nothing between two runs. */
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL; resolves when that run has ended. The process is started again. */
  kill(): Promise<void>;
  /** SIGTERM and stays down until `start`. Resolves with the end of the last run. */
  stop(): Promise<Exit | undefined>;
  /** SIGKILL and stays down until `start`: the machine is gone, not only the container. */
  destroy(): Promise<void>;
  start(): Promise<void>;
}

export async function supervise(spec: ProcessSpec, clock: Clock): Promise<SupervisedProcess> {
  const exits: Exit[] = [];
  let child: ChildProcess | undefined;
  let wanted = true;
  let life: Promise<void> = Promise.resolve();

  const keepRunning = async (first: ChildProcess): Promise<void> => {
    for (let current = first; ;) {
      child = current;
      // A stop was requested while this run was starting.
      exits.push(await (wanted ? current.exited : current.stop()));
      child = undefined;
      if (wanted) await clock.sleep(restartDelayMs);
      if (!wanted) return;
      current = await startProcess(spec, clock);
    }
  };
  const start = async (): Promise<void> => {
    wanted = true;
    life = keepRunning(await startProcess(spec, clock));
  };
  const stop = async (): Promise<Exit | undefined> => {
    wanted = false;
    await child?.stop();
    await life;
    return exits.at(-1);
  };
  await start();
  return {
    name: spec.name,
    logFile: spec.logFile,
    exits,
    get pid() {
      return child?.pid;
    },
    signal: (name) => child?.signal(name),
    kill: async () => {
      const victim = child;
      victim?.signal('SIGKILL');
      await victim?.exited;
    },
    stop,
    destroy: async () => {
      wanted = false;
      child?.signal('SIGKILL');
      await life;
    },
    start: async () => {
      if (wanted) throw new Error(`${spec.name} runs already`);
      await start();
    },
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}
