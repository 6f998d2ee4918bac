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
import type { StoryController } from './story.ts';

/** Where the controller runs. */
export const storyNamespace = 'default';

export interface ReplicaDeps {
  /** Another process for each start. */
  readonly process: (name: string) => ScheduledProcess;
  readonly transport: (process: ScheduledProcess) => Transport;
  readonly controller: () => StoryController;
  readonly onDeath: (name: string, why: string) => void;
  /** A run of the controller threw, or a step failed by a mistake in its code. */
  readonly onDefect: (name: string, error: unknown) => void;
}

export function startReplica(
  name: string,
  { process, transport, controller, onDeath, onDefect }: ReplicaDeps,
): Container {
  function run(own: ScheduledProcess): () => void {
    let terminate = (): void => own.kill('SIGTERM');
    const { clock, random } = own;
    own.post(() => {
      void runController({
        ...controller(),
        listen: '',
        webhooks: undefined,
        clock,
        random,
        env: { POD_NAMESPACE: storyNamespace },
        files: memoryFiles(),
        hostName: name,
        logger: defectsTo((error) => onDefect(name, error)),
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

/** Logs nothing, and calls `found` for what would be logged of a defect. */
function defectsTo(found: (error: unknown) => void): Logger {
  const logger: Logger = {
    ...silentLogger,
    error: (error, message) => {
      if (message === threwMessage || isDefect(error)) found(error);
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
