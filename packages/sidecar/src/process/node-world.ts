// SPDX-License-Identifier: Apache-2.0
/** The real world of a controller: this process, and the cluster it runs in. */
import {
  connectCluster,
  createApiClient,
  createRequestMetrics,
  type Files,
  keepHeapSmall,
  loadClusterConfig,
  nodeHeap,
  systemClock,
  systemFiles,
  userAgent,
} from '@csi-sidecars/runtime';
import { usageText } from '../flags/usage.ts';
import { runInProcess } from './process-world.ts';
import type { ProgramDeps } from './run-controller.ts';
import type { ApiConnection, ApiOptions, ProcessWorld, ScrapedMetrics } from './world.ts';

/** Runs a program in this process and ends it with the program's exit code. The last call of a `main.ts`. */
export async function runMain(name: string, run: (deps: ProgramDeps) => Promise<number>): Promise<void> {
  const files = systemFiles();
  using _ = keepHeapSmall({ heap: nodeHeap(), clock: systemClock() });
  await runInProcess({ name, usageText, openMetrics }, ({ world, lifecycle }) =>
    run({ world: { ...world, files, connectApi: (options) => connectApi({ ...world, files }, options) }, lifecycle }),
  );
}

async function openMetrics(): Promise<ScrapedMetrics> {
  const { createMetricsRegistry } = await import('../metrics/registry.ts');
  return createMetricsRegistry();
}

async function connectApi(
  { clock, files, version, env }: ProcessWorld & { readonly files: Files },
  options: ApiOptions,
): Promise<ApiConnection> {
  const { program, kubeconfig, master, qps, burst, log: logger, metrics } = options;
  const config = await loadClusterConfig({ files, env, logger }, { kubeconfig, master });
  const { host, transport, close } = await connectCluster({ clock, logger, files, env }, config);
  const agent = userAgent({ binary: program, version, commit: process.env['CSI_SIDECARS_COMMIT'] ?? '' });
  const requestMetrics = metrics && createRequestMetrics(metrics, host);
  const client = createApiClient(
    { transport, clock, logger, metrics: requestMetrics },
    { qps, burst, userAgent: agent },
  );
  return { client, close };
}
