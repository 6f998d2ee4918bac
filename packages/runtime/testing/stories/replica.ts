// SPDX-License-Identifier: Apache-2.0
/** One replica of a controller, as kubelet keeps it: whenever its process ends, the next one starts, whose memory is empty. */
import { runController } from '../../src/program/run-controller.ts';
import type { Transport } from '../../src/api/transport.ts';
import { silentLogger } from '../../src/log/logger.ts';
import { memoryFiles } from '../memory-files.ts';
import type { ScheduledProcess } from '../world/schedule.ts';
import type { StoryController } from './story.ts';

export interface Replica {
  /** Undefined between two processes. */
  readonly process: () => ScheduledProcess | undefined;
  /** SIGTERM, and SIGKILL after 30 s. */
  readonly stop: () => void;
}

export interface ReplicaDeps {
  /** Another process for each start. */
  readonly process: (name: string) => ScheduledProcess;
  readonly transport: (process: ScheduledProcess) => Transport;
  readonly controller: () => StoryController;
  readonly onDeath: (name: string, why: string) => void;
}

const restartMs = 1_000;
const graceMs = 30_000;

export function startReplica(name: string, deps: ReplicaDeps): Replica {
  const kubelet = deps.process(`kubelet of ${name}`);
  let births = 0;
  let current: { readonly process: ScheduledProcess; terminate: () => void } | undefined;

  function start(): void {
    births += 1;
    const process = deps.process(`${name}#${births}`);
    const started = { process, terminate: (): void => process.kill('SIGTERM') };
    current = started;
    process.onDeath((why) => {
      current = undefined;
      deps.onDeath(process.name, why);
      kubelet.post(start, restartMs);
    });
    process.post(() => {
      void runController({
        ...deps.controller(),
        listen: '',
        clock: process.clock,
        random: process.random,
        env: { POD_NAMESPACE: 'default' },
        files: memoryFiles(),
        hostName: name,
        logger: silentLogger,
        process: {
          onSignal: (signal, listener) => {
            if (signal === 'SIGTERM') started.terminate = listener;
          },
          onCrash: () => undefined,
          exit: (code) => process.kill(`exit code ${code}`),
        },
        loadConfig: () => Promise.resolve(nowhere),
        connect: () =>
          Promise.resolve({ host: 'api', transport: deps.transport(process), close: () => Promise.resolve() }),
      });
    });
  }

  start();
  return {
    process: () => current?.process,
    stop() {
      if (current === undefined) return;
      const { process, terminate } = current;
      process.post(terminate);
      kubelet.post(() => process.kill('SIGKILL after the grace period'), graceMs);
    },
  };
}

/** The transport is given, so no address is used. */
const nowhere = {
  endpoint: { scheme: 'https', host: 'api', port: 443, basePath: '' },
  tls: { verify: 'server' },
  user: { kind: 'anonymous' },
} as const;
