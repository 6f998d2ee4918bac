// SPDX-License-Identifier: Apache-2.0
/**
 * A whole program around loops. The order of its parts is in assemble.ts. Each part has a default and can be replaced by an option of its
 * name. Programs that have command lines and exit codes of their own begin in the package `sidecar`.
 *
 * | End | Exit code |
 * |---|---|
 * | SIGTERM or SIGINT: running reconciles finish, events are flushed, the lease is released | 0 |
 * | the same, but not within `drainMs`; a second signal | 1 |
 * | the lease was lost; the program cannot start | 1 |
 * | caches have not synced in time (`syncTimeoutMs`): the lease is released | 1 |
 * | an uncaught exception or an unhandled rejection | 2 |
 */
import type { Controller } from '../controller/controller.ts';
import { createRunMetrics } from '../controller/run-metrics.ts';
import { defaultSyncTimeoutMs } from '../informer/sync-limit.ts';
import { leaderHealthRoute, serveDiagnostics } from './serve-diagnostics.ts';
import { debugExplainRoute } from '../inspection/debug-explain.ts';
import { createInspection, type Inspection } from '../inspection/inspection.ts';
import { createController } from '../loop/create-controller.ts';
import { keepAlive } from '../process/node-process.ts';
import { type Lifecycle, runProcess } from '../process/run-process.ts';
import { type Assembly, nothingOpened, runAssembly } from './assemble.ts';
import { connections } from './connections.ts';
import { type Parts, partsOf, type RunControllerOptions } from './options.ts';
import type { LeadingPorts } from './with-caches.ts';

/** Controls the process to its end, so it is the last call of a program. In tests it resolves when `process.exit` was called. */
export async function runController(options: RunControllerOptions): Promise<void> {
  const parts = partsOf(options);
  using _ = keepAlive(parts.clock);
  await runProcess(parts, (lifecycle) => run(parts, options, lifecycle));
}

async function run(parts: Parts, options: RunControllerOptions, { signal, configure }: Lifecycle): Promise<number> {
  const { logger, logWriter } = parts;
  const { drainMs, elect, lease, listen, tracer, debugExplain } = options;
  if (debugExplain !== undefined && listen === '') throw new Error('debugExplain needs listen');
  const inspection = debugExplain && createInspection(parts, options.name);
  configure({ onSignal: 'drain', flushLogs: logWriter.flush, ...(drainMs === undefined ? {} : { drainMs }) });
  const assembly: Assembly<AsyncDisposable> = {
    connect: connections(parts, options),
    open: async ({ client }) => {
      const webhooks =
        typeof options.webhooks === 'function' ? options.webhooks({ ...parts, client }) : options.webhooks;
      return (await webhooks?.serve(parts)) ?? nothingOpened;
    },
    serve: async (isHealthy) => (listen === '' ? undefined : await serve(parts, options, { isHealthy, inspection })),
    prepare: async () => ({
      lease: lease && { releaseOnExit: true, metricName: lease.name, ...lease },
      assemble: (ports) => assemble(ports, options),
    }),
  };
  const runMetrics = createRunMetrics(parts.clock, parts.metrics);
  const result = await runAssembly({ ...parts, elect, tracer, inspection, runMetrics }, assembly, signal);
  if (signal.aborted && result !== 'lost') return 0;
  logger.error(undefined, 'Stopped leading', { result });
  return 1;
}

function assemble({ recorderOf, ...ports }: LeadingPorts, options: RunControllerOptions): Controller {
  const { name, loops, syncTimeoutMs = defaultSyncTimeoutMs } = options;
  const events = recorderOf({ component: name });
  return createController(ports, typeof loops === 'function' ? loops({ ...ports, events }) : loops, { syncTimeoutMs });
}

interface Served {
  readonly isHealthy: () => boolean;
  readonly inspection: Inspection | undefined;
}

function serve(parts: Parts, options: RunControllerOptions, { isHealthy, inspection }: Served) {
  const { listen = ':8080', routes = [], debugExplain: access = 'loopback', version = '' } = options;
  const explained = { access, version, hostName: parts.hostName, inspections: inspection ? [inspection] : [] };
  return serveDiagnostics(parts, {
    address: listen,
    metricsPath: '/metrics',
    startedAtMs: performance.timeOrigin,
    droppedLinesMetric: 'log_lines_dropped',
    routes: [
      { ...leaderHealthRoute(isHealthy), path: '/healthz' },
      ...(inspection === undefined ? [] : [debugExplainRoute(parts, explained)]),
      ...routes,
    ],
  });
}
