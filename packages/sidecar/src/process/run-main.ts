// SPDX-License-Identifier: Apache-2.0
/** The real host of a controller: this process, and the cluster it runs in. */
import { type Files, systemClock, systemFiles } from '@csi-sidecars/runtime';
import {
  type ApiConnection,
  type Compiler,
  connectApi,
  createRequestMetrics,
  type HeapOptions,
  keepHeapSmall,
  nodeCompilers,
  nodeHeap,
  optimiseLate,
  userAgent,
} from '@csi-sidecars/runtime/internal';
import { usageText } from '../flags/usage.ts';
import { runInProcess } from './run-in-process.ts';
import type { ProgramDeps } from './run-controller-program.ts';
import type { ApiOptions, ProcessHost, ScrapedMetrics } from './host.ts';

export interface MainOptions {
  readonly heap?: HeapOptions;
  /** The compilers of V8 that are off until the program has worked for ten seconds without a break. Default: Turbofan. */
  readonly lateCompilers?: readonly Compiler[];
}

/** Runs a program in this process and ends it with the program's exit code. The last call of a `main.ts`. */
export async function runMain(
  name: string,
  run: (deps: ProgramDeps) => Promise<number>,
  { heap, lateCompilers = ['turbofan'] }: MainOptions = {},
): Promise<void> {
  const files = systemFiles();
  const clock = systemClock();
  using _ = keepHeapSmall({ heap: nodeHeap(heap), clock });
  using _late = lateCompilers.length > 0 ? optimiseLate({ compilers: nodeCompilers(lateCompilers), clock }) : undefined;
  await runInProcess({ name, usageText, openMetrics }, ({ host, lifecycle }) =>
    run({ host: { ...host, files, connectApi: (options) => connect({ ...host, files }, options) }, lifecycle }),
  );
}

async function openMetrics(): Promise<ScrapedMetrics> {
  const { createMetricsRegistry } = await import('../metrics/registry.ts');
  return createMetricsRegistry();
}

function connect(
  { clock, files, version, env }: ProcessHost & { readonly files: Files },
  { program, log: logger, metrics, ...options }: ApiOptions,
): Promise<ApiConnection> {
  const agent = userAgent({ binary: program, version, commit: process.env['CSI_SIDECARS_COMMIT'] ?? '' });
  const requestMetrics = metrics && ((host: string) => createRequestMetrics(metrics, host));
  return connectApi({ clock, files, env, logger, requestMetrics }, { ...options, userAgent: agent });
}
