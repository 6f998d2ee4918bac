// SPDX-License-Identifier: Apache-2.0
/** A process that a test controls: it sets the arguments and reads log, files and exit code. The API server is in memory. */
import { OrderlyStop, type Transport, createApiClient } from '@csi-sidecars/runtime';
import { createRequestMetrics, type Lifecycle } from '@csi-sidecars/runtime/internal';
import {
  type AccessRule,
  type FakeApiServer,
  FakeClock,
  type MemoryFiles,
  type Subject,
  createFakeApiServer,
  memoryFiles,
  seededRandom,
} from '@csi-sidecars/runtime/testing';
import { usageText } from '../src/flags/usage.ts';
import { createMetricsRegistry } from '../src/metrics/registry.ts';
import type { ProgramHost } from '../src/process/host.ts';

export interface FakeHost extends ProgramHost {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly files: MemoryFiles;
  readonly lifecycle: Lifecycle;
  /** The effect of the first signal; `exit` until the program changes it. */
  readonly onSignal: () => 'exit' | 'drain';
  /** An orderly stop, as the first signal asks for it. */
  readonly stop: () => void;
  readonly printed: () => string;
  /** Everything on stderr. */
  readonly logged: () => string;
  readonly terminationLog: () => readonly string[];
  /** API connections that are open. */
  readonly connections: () => number;
}

export interface FakeHostOptions {
  readonly args?: readonly string[];
  readonly env?: ProgramHost['env'];
  /** Default: a termination log that can be written. */
  readonly terminationLog?: 'writable' | 'readOnly';
  /** What the program may do at the API server. Default: everything. */
  readonly rules?: readonly AccessRule[];
  /** Whether it may ask for its rights. Default: it may. */
  readonly reviews?: Subject['reviews'];
  /** A layer in front of the API server, for faults. Default: none. */
  readonly intercept?: (transport: Transport) => Transport;
}

export function fakeHost(options: FakeHostOptions = {}): FakeHost {
  const clock = new FakeClock();
  const { rules, reviews, intercept = (transport) => transport } = options;
  const server = createFakeApiServer({
    clock,
    random: seededRandom(1),
    ...(rules !== undefined && { authenticate: () => ({ user: 'program', rules, ...(reviews && { reviews }) }) }),
  });
  const stopping = new AbortController();
  const printed: string[] = [];
  const logged: string[] = [];
  const terminationLog: string[] = [];
  let onSignal: 'exit' | 'drain' = 'exit';
  let connections = 0;
  return {
    args: options.args ?? [],
    argv0: '/program',
    env: options.env ?? {},
    pid: 7,
    hostName: 'pod-1',
    startedAtMs: clock.nowMs(),
    version: 'v1.2.3',
    clock,
    random: seededRandom(2),
    files: memoryFiles(),
    server,
    stdout: (text) => void printed.push(text),
    openStderr: () => ({
      write: (line) => void logged.push(line),
      dropped: 0,
      flush: () => Promise.resolve(),
      flushSync: () => undefined,
    }),
    writeTerminationLog: (text) => {
      if (options.terminationLog === 'readOnly') throw new Error('read-only file system');
      terminationLog.push(text);
    },
    connectApi: async ({ program, qps, burst, log, metrics, command }) => {
      connections += 1;
      const requestMetrics = metrics && createRequestMetrics(metrics, 'api.test:443');
      const transport = intercept(server.transport);
      const deps = {
        transport: command === undefined ? transport : command.layer(transport),
        clock,
        logger: log,
        metrics: requestMetrics,
      };
      return {
        client: createApiClient(deps, { qps, burst, userAgent: program }),
        clientWith: ({ logger, component, counted, ...limits }) =>
          createApiClient(
            { ...deps, logger, metrics: counted ? requestMetrics : undefined },
            { ...limits, userAgent: [program, component].filter(Boolean).join('/') },
          ),
        close: async () => {
          connections -= 1;
        },
      };
    },
    usageText,
    openMetrics: async () => createMetricsRegistry(),
    lifecycle: {
      signal: stopping.signal,
      configure: (settings) => {
        onSignal = settings.onSignal ?? onSignal;
      },
    },
    onSignal: () => onSignal,
    stop: () => stopping.abort(new OrderlyStop()),
    printed: () => printed.join(''),
    logged: () => logged.join(''),
    terminationLog: () => terminationLog,
    connections: () => connections,
  };
}
