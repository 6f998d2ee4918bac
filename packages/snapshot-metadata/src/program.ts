// SPDX-License-Identifier: Apache-2.0
/**
 * csi-snapshot-metadata from its arguments to its exit code. `/health` is answered before the driver is connected, so that a probe sees why
 * the container is not ready; gRPC is served before the driver is ready, and refuses then.
 */
import {
  connectCsi,
  type CsiConnection,
  createDriverStreams,
  getDriverName,
  getPluginCapabilities,
  probeForever,
} from '@csi-sidecars/csi';
import type { ApiClient, HttpRoute, ScrapedMetrics } from '@csi-sidecars/runtime';
import { readPair, watchPair } from '@csi-sidecars/runtime/internal';
import {
  endWithDriver,
  ExitError,
  exitCodes,
  orExit,
  type ProgramDeps,
  runProgram,
  serveProgram,
  type Started,
} from '@csi-sidecars/sidecar';
import { watchExpiry } from './certificate-expiry.ts';
import { snapshotMetadataProgram as program, type SnapshotMetadataValues } from './flags.ts';
import { type Checked, healthPath, readSettings } from './read-settings.ts';
import { createHealth, type Health } from './serve/health.ts';
import { createStreamMetrics, type StreamMetrics } from './serve/metrics.ts';
import { type MetadataServer, startServer } from './serve/server.ts';
import { type Clients, createService } from './serve/service.ts';

type Starting = Started<SnapshotMetadataValues, never>;

interface Run extends ProgramDeps {
  readonly started: Starting;
  readonly checked: Checked;
  readonly health: Health;
  readonly metrics: StreamMetrics;
  /** Ends the run with this code, whatever still runs. */
  readonly cutShort: (code: number) => void;
}

/** How long streams may go on after a signal. The process itself would end five seconds later. */
const drainMs = 20_000;

export function runSnapshotMetadata(deps: ProgramDeps): Promise<number> {
  return runProgram(deps, { program }, async (started) => {
    const { values, given, log } = started;
    const checked = readSettings({ values, given, env: deps.host.env });
    if (typeof checked === 'string') {
      throw new ExitError(exitCodes.failure, checked, { reason: 'commandLine' });
    }
    if (checked.warning !== undefined) log.warn(checked.warning);
    const cut = Promise.withResolvers<number>();
    const scraped = await deps.host.openMetrics();
    const health = createHealth();
    const metrics = createStreamMetrics(scraped, { names: checked.settings.snapshotLabels });
    const run: Run = { ...deps, started, checked, health, metrics, cutShort: cut.resolve };
    await using stack = new AsyncDisposableStack();
    return await Promise.race([cut.promise, serve(run, scraped, stack)]);
  });
}

async function serve(run: Run, scraped: ScrapedMetrics, stack: AsyncDisposableStack): Promise<number> {
  const { host, lifecycle, started, checked, health, metrics } = run;
  const { values, log } = started;
  const { clock } = host;
  const { signal } = lifecycle;
  stack.use(await serveHttp(run, scraped));
  const clients = await connectClients(run, stack);
  const channel = await connectDriver(run, stack);
  const limits = { timeoutMs: values.timeout, signal };
  const driverName = await orExit('Failed to get the CSI driver name', () => getDriverName(channel, limits));
  log.info(2, 'CSI driver name', { driver: driverName });
  let pair = await orExit('Failed to load the TLS certificate', () => readPair(checked.files));
  const streams = createDriverStreams(values['csi-address']);
  stack.defer(streams.close);
  const stopping = new AbortController();
  const ports = { clock, log, clients, driver: streams, metrics, isReady: health.isServing, stopped: stopping.signal };
  const handler = createService(ports, checked.settings, driverName);
  const { port } = values;
  const { maxConnections } = checked.settings;
  const server = await orExit('Failed to start the gRPC server', () =>
    startServer({ clock, log, health, handler }, { port, pair, tls: checked.tls, maxConnections }),
  );
  stack.defer(() => server.close());
  lifecycle.configure({ onSignal: 'drain' });
  log.info(0, 'Listening', { port: server.port });
  const watchingUntil = new AbortController();
  signal.addEventListener('abort', () => watchingUntil.abort(signal.reason), { once: true });
  stack.defer(() => watchingUntil.abort(new Error('the program ends')));
  const use = (next: typeof pair): void => {
    pair = next;
    server.use(next);
  };
  const current = { ...checked.files, current: pair };
  const watching = Promise.all([
    watchPair({ clock, log }, current, { use, signal: watchingUntil.signal }),
    watchExpiry({ clock, log, metrics }, () => pair, watchingUntil.signal),
  ]);
  try {
    await waitForDriver(run, channel, driverName);
    await watching;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await endInOrder(run, server, stopping);
  return exitCodes.success;
}

function serveHttp(run: Run, metrics: ScrapedMetrics): ReturnType<typeof serveProgram> {
  const { values } = run.started;
  const healthRoute: HttpRoute = {
    path: healthPath,
    methods: 'any',
    handler: () => (run.health.isServing() ? { status: 200, body: 'ok' } : { status: 503, body: 'not ready' }),
  };
  const noMetrics: HttpRoute = {
    path: values['metrics-path'],
    methods: 'any',
    handler: () => ({ status: 404, body: '404 page not found\n' }),
  };
  return serveProgram(run, {
    address: values['http-endpoint'],
    metrics,
    isProfiled: false,
    // A later route replaces one of the same path.
    routes: [...(values['disable-metrics'] ? [noMetrics] : []), healthRoute],
    httpExitCode: exitCodes.fatal,
    servedMetrics: 'own',
  });
}

/** Four clients over one connection, each with a limit of its own. */
async function connectClients({ host, started }: Run, stack: AsyncDisposableStack): Promise<Clients> {
  const { values, log } = started;
  const limit = { qps: values['kube-api-qps'], burst: values['kube-api-burst'] };
  const connection = await orExit('Failed to create a Kubernetes client', () =>
    host.connectApi({ program: program.name, kubeconfig: values.kubeconfig, master: '', ...limit, log }),
  );
  stack.defer(() => connection.close());
  const client = (): ApiClient => connection.clientWith({ ...limit, logger: log, counted: false });
  return { tokens: client(), core: client(), snapshots: client(), services: client() };
}

async function connectDriver(run: Run, stack: AsyncDisposableStack): Promise<CsiConnection> {
  const { host, lifecycle, started, metrics } = run;
  const { values, log } = started;
  const connect = host.connectCsi ?? connectCsi;
  const address = values['csi-address'];
  const channel = await orExit('Failed to connect to CSI driver', () =>
    connect(
      { clock: host.clock, log, metrics: metrics.calls },
      { address, lossPolicy: 'end', signal: lifecycle.signal },
    ),
  );
  stack.defer(channel.close);
  channel.lost.addEventListener('abort', () => endWithDriver({ log, host, cutShort: run.cutShort }));
  return channel;
}

/** Until here gRPC refuses, and `/health` is 503. */
async function waitForDriver(run: Run, channel: CsiConnection, driverName: string): Promise<void> {
  const { host, lifecycle, started, health, metrics } = run;
  const { log, values } = started;
  const limits = { timeoutMs: values.timeout, signal: lifecycle.signal };
  await orExit('Failed to probe the CSI driver', () => probeForever({ channel, clock: host.clock, log }, limits));
  const capabilities = await orExit('Failed to get the capabilities of the CSI plugin', () =>
    getPluginCapabilities(channel, limits),
  );
  if (!capabilities.has('SNAPSHOT_METADATA_SERVICE')) {
    const message = `CSI driver ${driverName} does not support the SNAPSHOT_METADATA_SERVICE`;
    throw new ExitError(exitCodes.failure, message, { reason: 'driver' });
  }
  metrics.calls.setDriverName(driverName);
  health.setServing();
  log.info(0, 'Setting status to SERVING');
}

async function endInOrder({ host, started, health }: Run, server: MetadataServer, stopping: AbortController) {
  const { log } = started;
  log.info(0, 'Shutting down: setting status to NOT_SERVING');
  health.shutDown();
  using _ = host.clock.timer(drainMs, () => {
    log.info(0, 'Ending the streams that still run');
    stopping.abort(new Error('the sidecar is shutting down'));
  });
  await server.drain();
}
