// SPDX-License-Identifier: Apache-2.0
/**
 * The life of an API-using sidecar, in upstream's order: flags, logs, gates, version, endpoint flags, cluster, driver,
 * probe, driver name, capabilities, HTTP, election, work. Each step that fails ends the program with upstream's exit code
 * and one last log line.
 *
 * Not here: what the controllers do (the definition assembles them), how a leader is elected, how a driver is connected.
 */
import { type CsiChannel, createCallMetrics, getDriverName, probeForever } from '@csi-sidecars/csi';
import {
  type ApiClient,
  createApiClient,
  createElectionMetrics,
  createEventRecorder,
  createLeaderElector,
  leaseIdentity,
  leaseName,
  leaseNamespace,
  type LeaderElector,
  linkSignals,
  type Logger,
  type Metrics,
  noMetrics,
  openGate,
  runProcess,
  type StartGate,
  userAgent,
} from '@csi-sidecars/runtime';
import { registerProcessMetrics } from '../metrics/process-metrics.ts';
import { createLogger, type LoggerOptions } from '../logging/logger.ts';
import { invalidLogging } from '../logging/validate.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';
import { type CommandLine, readFlags, readGates } from './command-line.ts';
import type { SidecarDefinition, SidecarValues, SidecarWork } from './definition.ts';
import { ExitError, orExit } from './exit-error.ts';
import type { Host } from './host.ts';
import { leaderElectionRoute, metricsRoute } from './http-routes.ts';
import type { SidecarParts } from './parts.ts';

const serviceAccountNamespace = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
const connectionLost = 'Lost connection to CSI driver, exiting';

/** Runs the program to its end and exits the process. Never rejects. */
export async function runSidecar<V extends SidecarValues, G extends string>(
  definition: SidecarDefinition<V, G>,
  host: Host,
  parts: SidecarParts,
): Promise<void> {
  const origin = { program: definition.program.name, pid: host.pid };
  const toLogger = (verbosity: number, format: Pick<LoggerOptions, 'format'> = {}): Logger =>
    createLogger(
      { nowMs: () => parts.clock.nowMs(), write: (line) => parts.logSink.write(line) },
      { ...origin, verbosity, ...format },
    );
  await runProcess({ process: host.process, clock: parts.clock, logger: toLogger(0) }, async (lifecycle) => {
    const flags = await readFlags(definition.program, host);
    if ('exitCode' in flags) return flags.exitCode;
    const { values } = flags;
    const format =
      values['logging-format'] === 'json'
        ? { format: (await import('../logging/json-format.ts')).createJsonFormat(origin) }
        : {};
    const log = toLogger(values.v, format);
    lifecycle.configure({ logger: log, flushLogs: () => parts.logSink.flush() });
    try {
      const problems = invalidLogging(values);
      if (problems.length > 0) throw new ExitError(1, `LoggingConfiguration is invalid: ${problems.join(', ')}`);
      const gates = readGates(definition.program, values['feature-gates'], definition.fatalCode);
      const settings = { ...flags, ...gates };
      definition.check?.(settings, host);
      if (values.version) {
        host.writeStdout(`${host.programPath} ${definition.version}\n`);
        return 0;
      }
      log.info(0, 'Version', { version: definition.version });
      lifecycle.configure({ onSignal: settings.gates.ReleaseLeaderElectionOnExit ? 'drain' : 'exit' });
      return await live(definition, settings, { host, parts, log, signal: lifecycle.signal });
    } catch (error) {
      if (!(error instanceof ExitError)) throw error;
      log.error(undefined, error.message);
      return error.code;
    }
  });
}

interface Process {
  readonly host: Host;
  readonly parts: SidecarParts;
  readonly log: Logger;
  /** Aborts with an OrderlyStop when the process is asked to end. */
  readonly signal: AbortSignal;
}

/** From the cluster's configuration to the end of the work; resolves to the exit code. */
async function live<V extends SidecarValues, G extends string>(
  definition: SidecarDefinition<V, G>,
  settings: CommandLine<V, G | 'ReleaseLeaderElectionOnExit'>,
  { host, parts, log, signal }: Process,
): Promise<number> {
  const { values } = settings;
  const { clock, random } = parts;
  const fatal = definition.fatalCode;
  if (values['metrics-address'] !== '' && values['http-endpoint'] !== '') {
    throw new ExitError(1, 'only one of `--metrics-address` and `--http-endpoint` can be set.');
  }
  await using resources = new AsyncDisposableStack();

  const openClient = async (): Promise<ApiClient> => {
    const cluster = await orExit(fatal, 'Failed to create config', () =>
      parts.openCluster(definition.clusterSource(values, host), log),
    );
    resources.defer(() => cluster.close());
    return await orExit(fatal, 'Failed to create client', async () =>
      createApiClient(
        { transport: cluster.transport, clock, logger: log },
        {
          qps: values['kube-api-qps'],
          burst: values['kube-api-burst'],
          userAgent: userAgent({ binary: definition.program.name, version: definition.version, commit: '' }),
        },
      ),
    );
  };
  const client = await openClient();

  const address = values['metrics-address'] || values['http-endpoint'];
  const registry = address === '' ? undefined : await parts.loadMetricsRegistry();
  if (registry !== undefined) registerProcessMetrics(registry, host.startTimeMs);
  const metrics: Metrics = registry ?? noMetrics;

  const { channel, driverName, lost } = await meetDriver({ values, fatal, metrics }, { host, parts, log, signal });
  resources.defer(() => channel.close());

  const work = await orExit(fatal, 'Failed to set up controllers', () =>
    definition.assemble({
      ...settings,
      driverName,
      channel,
      client,
      clock,
      random,
      log,
      metrics,
      host,
      signal,
    }),
  );
  const elector = values['leader-election']
    ? await electorOf(definition, settings, { driverName, openClient, metrics, host, parts, log })
    : undefined;
  if (registry !== undefined) {
    resources.use(await serve({ address, values, registry, elector }, { parts, log, fatal }));
  }
  return await Promise.race([lead({ work, elector, channel }, signal, log), lost]);
}

interface Driver {
  readonly channel: CsiChannel;
  readonly driverName: string;
  /** Resolves to the exit code when the connection is lost: another replica, or a restart, may be luckier. */
  readonly lost: Promise<number>;
}

/** Connects, waits until the driver is ready, and asks its name. */
async function meetDriver(
  { values, fatal, metrics }: { readonly values: SidecarValues; readonly fatal: number; readonly metrics: Metrics },
  { host, parts, log, signal }: Process,
): Promise<Driver> {
  const callMetrics = createCallMetrics(metrics);
  const channel = await orExit(1, 'Failed to connect to the CSI driver', () =>
    parts.connectDriver({ address: values['csi-address'], lossPolicy: 'end', signal }, { log, metrics: callMetrics }),
  );
  const lost = new Promise<number>((resolve) => {
    channel.lost.addEventListener('abort', () => resolve(reportLoss(host, log)), { once: true });
  });
  const met = async (): Promise<string> => {
    await orExit(1, 'Error waiting for the CSI driver to be ready', () =>
      probeForever({ channel, clock: parts.clock, log }, { timeoutMs: values.timeout, signal }),
    );
    return await orExit(fatal, 'Error getting CSI driver name', () =>
      getDriverName(channel, { timeoutMs: values.timeout, signal }),
    );
  };
  const driverName = await met();
  callMetrics.setDriverName(driverName);
  log.info(2, 'Detected CSI driver', { driver: driverName });
  return { channel, driverName, lost };
}

function reportLoss(host: Host, log: Logger): number {
  try {
    host.writeTerminationLog(connectionLost);
  } catch (error) {
    log.error(error, 'Failed to write a message to the termination logfile');
  }
  log.error(undefined, connectionLost);
  return 1;
}

interface ElectionContext {
  readonly driverName: string;
  readonly openClient: () => Promise<ApiClient>;
  readonly metrics: Metrics;
  readonly host: Host;
  readonly parts: SidecarParts;
  readonly log: Logger;
}

/** A client of its own, so that throttling of the main one does not cost the lease. */
async function electorOf<V extends SidecarValues, G extends string>(
  definition: SidecarDefinition<V, G>,
  { values, gates }: CommandLine<V, G | 'ReleaseLeaderElectionOnExit'>,
  { driverName, openClient, metrics, host, parts, log }: ElectionContext,
): Promise<LeaderElector> {
  const { clock, random } = parts;
  const client = await openClient();
  const lockName = definition.lockName(driverName);
  const events = createEventRecorder(
    { client, clock, random, logger: log },
    { component: `${lockName}/${host.hostName}` },
  );
  return await orExit(2, 'Leader election cannot start', async () =>
    createLeaderElector(
      { client, clock, random, logger: log, metrics: createElectionMetrics(metrics), events },
      {
        name: leaseName(lockName),
        namespace: leaseNamespace({
          flag: values['leader-election-namespace'],
          podNamespace: host.env['POD_NAMESPACE'],
          serviceAccountNamespace: host.readText(serviceAccountNamespace),
        }),
        identity: leaseIdentity(host.hostName),
        leaseDurationMs: values['leader-election-lease-duration'],
        renewDeadlineMs: values['leader-election-renew-deadline'],
        retryPeriodMs: values['leader-election-retry-period'],
        labels: values['leader-election-labels'],
        releaseOnExit: gates.ReleaseLeaderElectionOnExit,
      },
    ),
  );
}

interface Endpoint {
  readonly address: string;
  readonly values: SidecarValues;
  readonly registry: MetricsRegistry;
  readonly elector: LeaderElector | undefined;
}

/** HTTP is served by every replica, from before the election on. */
async function serve(
  { address, values, registry, elector }: Endpoint,
  { parts, log, fatal }: { readonly parts: SidecarParts; readonly log: Logger; readonly fatal: number },
): Promise<AsyncDisposable> {
  const health =
    elector !== undefined && values['http-endpoint'] !== '' ? [leaderElectionRoute(() => elector.isHealthy, '')] : [];
  const server = await orExit(fatal, `Failed to listen on ${address}`, () =>
    parts.listen(
      {
        address,
        routes: [metricsRoute(values['metrics-path'], registry), ...health],
        profiling: values['enable-pprof'] === true ? 'on' : 'off',
      },
      log,
    ),
  );
  log.info(0, 'ServeMux listening', { address });
  return server;
}

interface Leading {
  readonly work: SidecarWork;
  readonly elector: LeaderElector | undefined;
  readonly channel: CsiChannel;
}

async function lead({ work, elector, channel }: Leading, signal: AbortSignal, log: Logger): Promise<number> {
  using linked = linkSignals([signal, channel.lost]);
  const leading = async (until: AbortSignal, gate: StartGate): Promise<void> => {
    await work.run(until, gate);
    // Events belong to the work: they are sent while the lease is still ours.
    await work.flush();
  };
  if (elector === undefined) {
    await leading(linked.signal, openGate);
    return 0;
  }
  const result = await elector.run(linked.signal, leading);
  log.error(undefined, 'Stopped leading', { result });
  return 1;
}
