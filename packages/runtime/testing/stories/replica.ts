// SPDX-License-Identifier: Apache-2.0
/** One replica of a controller: a container that runs `runController`. */
import { runController } from '../../src/program/run-controller.ts';
import type { Transport } from '../../src/api/transport.ts';
import { isDefect } from '../../src/api/errors.ts';
import { threwMessage } from '../../src/controller/workers.ts';
import { createInformerFactory } from '../../src/informer/factory.ts';
import { type Logger, silentLogger } from '../../src/log/logger.ts';
import { memoryFiles } from '../memory-files.ts';
import { type Container, startContainer } from '../world/container.ts';
import type { ScheduledProcess } from '../world/schedule.ts';
import { heardLoops } from './heard-loops.ts';
import type { StoryController } from './story.ts';

/** Where the controller runs: no objects of a story are there, so that the rights of its lease do not stand in for others. */
export const storyNamespace = 'controller-system';

export interface ReplicaDeps {
  /** Another process for each start. */
  readonly process: (name: string) => ScheduledProcess;
  readonly transport: (process: ScheduledProcess) => Transport;
  readonly controller: (process: ScheduledProcess) => StoryController;
  readonly onDeath: (name: string, why: string) => void;
  /** A run has come to a step or to its end. */
  readonly onDecided: (name: string, line: () => string) => void;
  /** A run of the controller threw, or a step failed by a mistake in its code. */
  readonly onDefect: (name: string, error: unknown) => void;
}

export function startReplica(
  name: string,
  { process, transport, controller, onDeath, onDecided, onDefect }: ReplicaDeps,
): Container {
  function run(own: ScheduledProcess): () => void {
    let terminate = (): void => own.kill('SIGTERM');
    const { clock, random } = own;
    own.post(() => {
      const declared = controller(own);
      void runController({
        ...declared,
        loops: heardLoops(declared.loops, (line) => onDecided(own.name, line)),
        listen: '',
        webhooks: undefined,
        clock,
        random,
        env: { POD_NAMESPACE: storyNamespace },
        files: memoryFiles(),
        hostName: name,
        logger: heard((error) => onDefect(own.name, error)),
        // What changes a cached object throws.
        createInformers: (deps) => createInformerFactory({ ...deps, objects: 'frozen' }),
        process: {
          onSignal: (signal, listener) => {
            if (signal === 'SIGTERM') terminate = listener;
          },
          onCrash: () => undefined,
          exit: (code) => own.kill(`exit code ${code}`),
        },
        loadConfig: () => Promise.resolve(nowhere),
        connect: () => Promise.resolve({ host: 'api', transport: transport(own), close: () => Promise.resolve() }),
      });
    });
    return () => terminate();
  }
  return startContainer(name, { process, run, onDeath: (dead, why) => onDeath(dead.name, why) });
}

/** Logs nothing, and calls the listener for what would be logged of a defect. */
function heard(defect: (error: unknown) => void): Logger {
  const logger: Logger = {
    ...silentLogger,
    error: (error, message) => {
      if (message === threwMessage || isDefect(error)) defect(error);
    },
    with: () => logger,
  };
  return logger;
}

/** The transport is given, so no address is used. */
const nowhere = {
  endpoint: { scheme: 'https', host: 'api', port: 443, basePath: '' },
  tls: { verify: 'server' },
  user: { kind: 'anonymous' },
} as const;
