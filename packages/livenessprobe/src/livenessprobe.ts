// SPDX-License-Identifier: Apache-2.0
/**
 * livenessprobe from the wait for its driver to the HTTP server:
 *
 *   connect, however long it takes | GetPluginInfo, without a limit | metrics | /healthz
 *
 * No port is open before the driver has reported its name: until then kubelet's connection is refused, which fails the
 * probe of the driver's container while this one keeps running. It serves until its signal aborts; a driver that is lost later
 * is reported as unhealthy.
 */
import { connectIdentity, createCallMetrics, getDriverName } from '@csi-sidecars/csi';
import { type Clock, type HttpRoute, type Logger, whenAborted } from '@csi-sidecars/runtime';
import {
  type DiagnosticsServer,
  metricsRoute,
  sharedHandler,
  startDiagnosticsServer,
} from '@csi-sidecars/runtime/internal';
import { ExitError, type ProcessHost, exitCodes, orExit } from '@csi-sidecars/sidecar';
import { healthCheck } from './health-check.ts';
import { messages } from './messages.ts';
import { type LivenessprobeSettings, healthPath } from './settings.ts';

export interface LivenessprobeDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly host: Pick<ProcessHost, 'openMetrics' | 'startedAtMs'>;
  /** Where `/healthz` is served instead of on a server of its own, which is not opened then. */
  readonly serve?: (route: HttpRoute) => void;
}

/** Resolves with the exit code when the signal aborts; rejects with an ExitError. */
export async function runLivenessprobe(
  deps: LivenessprobeDeps,
  settings: LivenessprobeSettings,
  signal: AbortSignal,
): Promise<number> {
  const { clock, log, host } = deps;
  const { metrics: place, csiAddress, probeTimeoutMs, healthAddress } = settings;
  const scraped = place.kind === 'none' ? undefined : await host.openMetrics();
  const callMetrics = scraped && createCallMetrics(scraped);
  const connect = (limits: { readonly connectTimeoutMs: number; readonly signal: AbortSignal }) =>
    connectIdentity({ clock, log, metrics: callMetrics }, { address: csiAddress, ...limits });

  const channel = await orExit(messages.connectFailed, () => connect({ connectTimeoutMs: 0, signal }));
  let driverName: string;
  try {
    log.info(0, messages.askingName);
    driverName = await orExit(messages.nameFailed, () => getDriverName(channel, { timeoutMs: Infinity, signal }));
  } finally {
    // Within csi-sidecars the process goes on after a failure, and starts livenessprobe again.
    channel.close();
  }
  log.info(0, 'CSI driver name', { driver: driverName });
  callMetrics?.setDriverName(driverName);

  await using servers = new AsyncDisposableStack();
  const serve = async (address: string, routes: readonly HttpRoute[]): Promise<DiagnosticsServer> =>
    servers.use(await startDiagnosticsServer({ address, routes, logger: log, clock }));
  const metricsRoutes =
    scraped && place.kind !== 'none'
      ? [metricsRoute(scraped, { path: place.path, startedAtMs: host.startedAtMs })]
      : [];
  if (place.kind === 'apart') {
    log.info(0, messages.metricsListening, { address: place.address });
    await orExit(messages.metricsFailed, () => serve(place.address, metricsRoutes));
  }
  const health = healthCheck({ clock, log, connect }, { driverName, budgetMs: probeTimeoutMs });
  const healthRoute: HttpRoute = { path: healthPath, methods: 'any', handler: sharedHandler(health) };
  if (deps.serve !== undefined) {
    deps.serve(healthRoute);
    await whenAborted(signal);
    return exitCodes.success;
  }
  const routes: readonly HttpRoute[] = [healthRoute, ...(place.kind === 'besideHealth' ? metricsRoutes : [])];
  log.info(0, messages.listening, { address: healthAddress });
  try {
    await serve(healthAddress, routes);
  } catch (cause) {
    // Upstream's exit code. In both cases the container ends and is started again.
    throw new ExitError(0, messages.listenFailed, { cause });
  }
  await whenAborted(signal);
  return exitCodes.success;
}
