// SPDX-License-Identifier: Apache-2.0
/** The real parts: system clock, sockets, files. */
import { connectCsi } from '@csi-sidecars/csi';
import {
  connectCluster,
  loadClusterConfig,
  profilingRoutes,
  startDiagnosticsServer,
  systemClock,
  systemFiles,
  systemRandom,
} from '@csi-sidecars/runtime';
import { createLineWriter } from '../logging/line-writer.ts';
import { stderrSink } from '../logging/stderr.ts';
import type { SidecarParts } from './parts.ts';

export function systemParts(): SidecarParts {
  const clock = systemClock();
  const files = systemFiles();
  const { env } = process;
  return {
    clock,
    random: systemRandom(),
    logSink: createLineWriter(stderrSink()),
    async openCluster(source, logger) {
      const config = await loadClusterConfig({ files, env, logger }, source);
      return await connectCluster({ clock, logger, files, env }, config);
    },
    connectDriver: (options, { log, metrics }) => connectCsi({ clock, log, metrics }, options),
    loadMetricsRegistry: async () => (await import('../metrics/registry.ts')).createMetricsRegistry(),
    listen: ({ address, routes, profiling }, logger) =>
      startDiagnosticsServer({
        address,
        logger,
        routes: profiling === 'on' ? [...routes, ...profilingRoutes({ clock, argv: process.argv })] : routes,
      }),
  };
}
