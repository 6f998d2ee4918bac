// SPDX-License-Identifier: Apache-2.0
/** The real process, without a cluster: arguments, log, clock, signals and the exit. */
import { hostname } from 'node:os';
import { type Clock, systemClock, systemRandom } from '@csi-sidecars/runtime';
import {
  createLogger,
  createLogTime,
  keepAlive,
  type Lifecycle,
  nodeProcess,
  openStderr,
  runProcess,
  type Sink,
  stderrSink,
  createRegistry,
} from '@csi-sidecars/runtime/internal';
import { writeTerminationLog } from './exit.ts';
import type { ProcessHost } from './host.ts';
import { goUsageText } from '../flags/go-usage.ts';

export interface ProcessDeps {
  readonly host: ProcessHost;
  readonly lifecycle: Lifecycle;
}

/** The parts that differ between a controller and a program of every node, which has to stay small. */
export interface ProcessOptions extends Pick<ProcessHost, 'usageText' | 'openMetrics'> {
  /** The binary's name. */
  readonly name: string;
}

/** The container runtime provides it as an empty file. Outside of a container it is not created. */
const terminationLog = '/dev/termination-log';

/** Runs a program in this process and ends it with the program's exit code. */
export async function runInProcess(
  { name, ...options }: ProcessOptions,
  run: (deps: ProcessDeps) => Promise<number>,
): Promise<void> {
  const clock = systemClock();
  const sink = stderrSink(clock);
  // For messages before the flags are read. They are written at once, because the process may end next.
  const logger = createLogger(
    { nowMs: createLogTime(clock), write: (line) => void sink.writeSync(Buffer.from(line)) },
    { program: name, pid: process.pid, verbosity: 0 },
  );
  const host: ProcessHost = { ...processHost(clock, sink), ...options };
  using _ = keepAlive(clock);
  const early = earlyHandlers();
  const ended = runProcess({ process: nodeProcess(), clock, logger }, (lifecycle) => run({ host, lifecycle }));
  // The handlers of `runProcess` are installed by now, so there is no moment without any.
  for (const { name, handler } of early) process.off(name, handler);
  await ended;
}

/** The first line of a bundle installs handlers, which end a process that is still being loaded; see scripts/bundle.ts. */
function earlyHandlers(): readonly EarlyHandler[] {
  return (['SIGTERM', 'SIGINT'] as const).flatMap((name) =>
    process.listeners(name).map((handler): EarlyHandler => ({ name, handler })),
  );
}

interface EarlyHandler {
  readonly name: 'SIGTERM' | 'SIGINT';
  readonly handler: NodeJS.SignalsListener;
}

function processHost(clock: Clock, sink: Sink): Omit<ProcessHost, 'usageText' | 'openMetrics'> {
  // The bundler replaces this expression, so it has to be written exactly like this.
  const version = process.env['CSI_SIDECARS_VERSION'] ?? 'v0.0.0';
  const [, argv0 = '', ...args] = process.argv;
  return {
    args,
    argv0,
    env: process.env,
    pid: process.pid,
    hostName: hostname(),
    startedAtMs: performance.timeOrigin,
    version,
    clock,
    random: systemRandom(),
    stdout: (text) => void process.stdout.write(text),
    openStderr: openStderr(clock, sink),
    writeTerminationLog: (text) => writeTerminationLog(terminationLog, text),
  };
}

/** Runs a program of every node: without a cluster, and without libraries that it does not need. The last call of a `main.ts`. */
export async function runPlainProgram(name: string, run: (deps: ProcessDeps) => Promise<number>): Promise<void> {
  await runInProcess({ name, usageText: goUsageText, openMetrics: async () => createRegistry() }, run);
}
