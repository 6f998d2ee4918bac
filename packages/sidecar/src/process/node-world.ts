// SPDX-License-Identifier: Apache-2.0
/** The real world: this process, the cluster it runs in, the machine's clock. */
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import {
  connectCluster,
  createApiClient,
  loadClusterConfig,
  nodeProcess,
  runProcess,
  systemClock,
  systemFiles,
  systemRandom,
  userAgent,
} from '@csi-sidecars/runtime';
import type { Clock, Files } from '@csi-sidecars/runtime';
import { createLineWriter } from '../logging/line-writer.ts';
import { createLogger } from '../logging/logger.ts';
import { stderrSink } from '../logging/stderr.ts';
import type { ProgramDeps } from './run-controller.ts';
import type { ApiConnection, ApiOptions, World } from './world.ts';

/** The container runtime provides it, empty; outside of a container none is made. */
const terminationLog = '/dev/termination-log';

/** Runs a program in this process and ends it with the program's exit code. The last call of a `main.ts`. */
export async function runMain(name: string, run: (deps: ProgramDeps) => Promise<number>): Promise<void> {
  const clock = systemClock();
  const sink = stderrSink(clock);
  // For what happens before the flags are read: written at once, since there may be no later.
  const logger = createLogger(
    { nowMs: () => clock.nowMs(), write: (line) => void sink.writeSync(Buffer.from(line)) },
    { program: name, pid: process.pid, verbosity: 0 },
  );
  const world = nodeWorld(clock, sink);
  // Sockets and timers below do not keep a process alive; one that merely waits for its driver would end.
  using _ = keepAlive(clock);
  await runProcess({ process: nodeProcess(), clock, logger }, (lifecycle) => run({ world, lifecycle }));
}

function keepAlive(clock: Clock): Disposable {
  const over = new AbortController();
  void (async () => {
    try {
      await clock.sleep(Infinity, over.signal);
    } catch {
      // The program has ended.
    }
  })();
  return { [Symbol.dispose]: () => over.abort() };
}

function nodeWorld(clock: Clock, sink: ReturnType<typeof stderrSink>): World {
  const files = systemFiles();
  // Written into the bundle, so that the global has to be named as it is.
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
    files,
    stdout: (text) => void process.stdout.write(text),
    openStderr: (dropNotice) => createLineWriter(sink, { dropNotice }),
    writeTerminationLog: (text) => writeFileSync(terminationLog, text, { flag: 'r+' }),
    connectApi: (options) => connectApi({ clock, files, version }, options),
    openMetrics: async () => {
      const { createMetricsRegistry } = await import('../metrics/registry.ts');
      return createMetricsRegistry();
    },
  };
}

interface ApiDeps {
  readonly clock: Clock;
  readonly files: Files;
  readonly version: string;
}

async function connectApi(deps: ApiDeps, options: ApiOptions): Promise<ApiConnection> {
  const { clock, files, version } = deps;
  const { program, kubeconfig, master, qps, burst, log: logger } = options;
  const { env } = process;
  const config = await loadClusterConfig({ files, env, logger }, { kubeconfig, master });
  const { transport, close } = await connectCluster({ clock, logger, files, env }, config);
  const agent = userAgent({ binary: program, version, commit: process.env['CSI_SIDECARS_COMMIT'] ?? '' });
  return { client: createApiClient({ transport, clock, logger }, { qps, burst, userAgent: agent }), close };
}
