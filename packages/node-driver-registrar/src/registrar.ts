// SPDX-License-Identifier: Apache-2.0
/**
 * The registrar from the driver's name to the end of its socket:
 *
 *   connect | GetPluginInfo | clear stale socket | HTTP | publish socket | answer kubelet ... | remove socket
 *
 * It ends with exit code 0 when its signal aborts, and with 1 when kubelet refuses the driver, after kubelet has its
 * answer. However it ends, its socket is removed. If the socket is removed from outside, it is created again within five seconds.
 *
 * Not here: retries. A failure ends the registrar, and kubelet starts it again.
 */
import { connectIdentity, connectRegistration, getDriverName, serveRegistration } from '@csi-sidecars/csi';
import { type Clock, type HttpRoute, type Logger, linkSignals } from '@csi-sidecars/runtime';
import {
  type DiagnosticsServer,
  growingPace,
  type GrowingPace,
  profilingRoutes,
  sharedHandler,
  startDiagnosticsServer,
} from '@csi-sidecars/runtime/internal';
import { exitCodes, orExit } from '@csi-sidecars/sidecar';
import { type HealthDeps, healthHandler } from './health.ts';
import { messages } from './messages.ts';
import { publishSocket } from './published-socket.ts';
import { type RegistrarSettings, socketPathOf } from './settings.ts';
import type { SocketFiles } from './socket-files.ts';
import { type Platform, clearStaleSocket } from './stale-socket.ts';

export interface RegistrarDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly files: SocketFiles;
  readonly platform: Platform;
  readonly argv: readonly string[];
  /** From now on an orderly stop has to remove the socket. */
  readonly onPublishing: () => void;
  /** Where `/healthz` is served if the settings name no server. Default: nowhere. */
  readonly serve?: (route: HttpRoute) => void;
}

const pluginType = 'CSIPlugin';
const supportedVersions = ['1.0.0'] as const;
const lookPeriodMs = 5_000;
const firstWaitMs = 30_000;

/** Resolves with the exit code; rejects with an ExitError. */
export async function runRegistrar(
  deps: RegistrarDeps,
  settings: RegistrarSettings,
  signal: AbortSignal,
): Promise<number> {
  const { clock, log, files, platform } = deps;
  const name = await askDriver(deps, settings, signal);
  const path = socketPathOf(settings.folder, name);
  if (name.split('/').includes('..')) log.warn(messages.nameLeavesFolder, { csiDriverName: name, socketPath: path });
  await orExit('Failed to clear the path of the registration socket', () => clearStaleSocket(files, path, platform));

  // Before the socket is published, so that a port in use does not register and deregister the driver with every restart.
  await using http = await openHttp(deps, settings);
  const refused = Promise.withResolvers<string>();
  // Nothing else says that kubelet does not see the socket.
  let waiting: Waiting | undefined = { pace: growingPace(clock, { firstMs: firstWaitMs }), wasAsked: false };
  const listen = (where: string) =>
    serveRegistration({ clock }, where, {
      getInfo: () => {
        log.info(4, messages.infoAsked);
        if (waiting !== undefined) waiting = { ...waiting, wasAsked: true };
        return { type: pluginType, name, endpoint: settings.endpoint, supported_versions: supportedVersions };
      },
      notified: (status) => {
        log.info(0, messages.notified, { status });
        waiting = undefined;
        if (!status.plugin_registered) refused.resolve(status.error);
      },
    });
  log.info(0, messages.starting, { socketPath: path });
  deps.onPublishing();
  const socket = await orExit(messages.listenFailed, () => publishSocket({ files, clock, listen }, path));
  using watch = linkSignals([signal]);
  const look = async (): Promise<void> => {
    if ((await socket.restore()) === 'restored') log.warn(messages.restored);
    if (waiting?.pace.isDue() !== true) return;
    const facts = { socketPath: path, forSeconds: waiting.pace.forSeconds() };
    if (waiting.wasAsked) log.warn(messages.notRegistered, { ...facts, hint: messages.notRegisteredHint });
    else log.warn(messages.notAsked, { ...facts, hint: messages.notAskedHint });
  };
  const watching = lookRegularly(deps, look, watch.signal);
  try {
    log.info(0, messages.started, { socketPath: path });
    const connect: HealthDeps['connect'] = (address, gone) =>
      connectRegistration({ clock, log }, { address, signal: gone });
    const options = { path, driverName: name, timeoutMs: settings.timeoutMs };
    const serve = http === undefined ? deps.serve : (route: HttpRoute) => http.add(route);
    const health = sharedHandler(healthHandler({ files, log, platform, connect }, options));
    serve?.({ path: '/healthz', methods: 'any', handler: health });
    const reason = await Promise.race([refused.promise, watching]);
    if (reason === undefined) return exitCodes.success;
    log.error(new Error(reason), messages.refused);
    return exitCodes.failure;
  } finally {
    watch.abort(signal.reason);
    await watching;
    await orExit(messages.removeFailed, socket.withdraw);
  }
}

async function askDriver(
  { clock, log }: RegistrarDeps,
  { csiAddress, timeoutMs }: RegistrarSettings,
  signal: AbortSignal,
): Promise<string> {
  log.info(1, messages.connecting, { csiAddress });
  const channel = await orExit(messages.connectFailed, () =>
    connectIdentity({ clock, log }, { address: csiAddress, signal }),
  );
  try {
    log.info(1, messages.askingName);
    const name = await orExit(messages.nameFailed, () => getDriverName(channel, { timeoutMs, signal }));
    log.info(2, 'CSI driver name', { csiDriverName: name });
    return name;
  } finally {
    // From here on the registrar does not watch the driver.
    channel.close();
  }
}

async function openHttp(
  { clock, log, argv }: RegistrarDeps,
  { http }: RegistrarSettings,
): Promise<DiagnosticsServer | undefined> {
  if (http === undefined) {
    log.info(0, messages.noHttp);
    return undefined;
  }
  log.info(0, messages.httpStarting, { endpoint: http.address });
  const routes = http.profiling === 'served' ? profilingRoutes({ clock, argv }) : [];
  return await orExit(messages.httpFailed, () =>
    startDiagnosticsServer({ address: http.address, routes, logger: log, clock }),
  );
}

interface Waiting {
  readonly pace: GrowingPace;
  readonly wasAsked: boolean;
}

/** Resolves when the signal aborts. */
async function lookRegularly(
  { clock, log }: RegistrarDeps,
  look: () => Promise<void>,
  signal: AbortSignal,
): Promise<undefined> {
  let failing: GrowingPace | undefined;
  for (;;) {
    try {
      await clock.sleep(lookPeriodMs, signal);
    } catch {
      return undefined;
    }
    try {
      await look();
      failing = undefined;
    } catch (error) {
      const isFirst = failing === undefined;
      failing ??= growingPace(clock, { firstMs: 2 * lookPeriodMs });
      if (isFirst || failing.isDue()) log.error(error, messages.restoreFailed, { forSeconds: failing.forSeconds() });
    }
  }
}
