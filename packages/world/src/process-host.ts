// SPDX-License-Identifier: Apache-2.0
/** What a program finds around it: its arguments, the API server as its process reaches it, its driver, and a log. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { createApiClient, type Transport } from '@csi-sidecars/runtime';
import { memoryFiles, type ScheduledProcess } from '@csi-sidecars/runtime/testing';
import type { ProgramHost } from '@csi-sidecars/sidecar';

export interface HostDeps {
  readonly process: ScheduledProcess;
  readonly args: readonly string[];
  readonly env: ProgramHost['env'];
  readonly hostName: string;
  readonly transport: Transport;
  /** A connection to the driver; undefined while the driver is down. */
  readonly connect: () => CsiChannel | undefined;
  readonly onLogLine: (line: string) => void;
  /** Default: no metrics endpoint is asked for. */
  readonly openMetrics?: ProgramHost['openMetrics'] | undefined;
}

const reconnectMs = 1_000;

export function hostOf({
  process,
  args,
  env,
  hostName,
  transport,
  connect,
  onLogLine,
  openMetrics,
}: HostDeps): ProgramHost {
  const { clock, random } = process;
  return {
    args,
    argv0: hostName,
    env,
    pid: 1,
    hostName,
    startedAtMs: clock.nowMs(),
    version: 'v0.0.0',
    clock,
    random,
    files: memoryFiles({}),
    stdout: () => undefined,
    openStderr: () => ({
      write: onLogLine,
      dropped: 0,
      flush: () => Promise.resolve(),
      flushSync: () => undefined,
    }),
    writeTerminationLog: () => undefined,
    usageText: () => Promise.resolve(''),
    openMetrics: openMetrics ?? (() => Promise.reject(new Error('no story scrapes metrics'))),
    connectApi: async ({ program, qps, burst, log }) => {
      const clientWith: Awaited<ReturnType<ProgramHost['connectApi']>>['clientWith'] = ({
        logger,
        component,
        ...limit
      }) =>
        createApiClient(
          { transport, clock, logger },
          { ...limit, userAgent: [program, component].filter(Boolean).join('/') },
        );
      const client = createApiClient({ transport, clock, logger: log }, { qps, burst, userAgent: program });
      return { client, clientWith, close: async () => undefined };
    },
    // A driver that is down comes back before any limit of connecting is over.
    connectCsi: async (_deps, { signal }) => {
      for (;;) {
        const channel = connect();
        if (channel !== undefined) return { ...channel, loggedBy: () => channel };
        await clock.sleep(reconnectMs, signal);
      }
    },
  };
}
