// SPDX-License-Identifier: Apache-2.0
/** The service with a driver on a socket, an API server in memory, and callers over TLS. Time is virtual. */
import { createDriverStreams, type GetMetadataAllocatedResponseInput } from '@csi-sidecars/csi';
import {
  type CsiServer,
  driverName,
  serveCsi,
  type ServedStream,
  type StreamHandlers,
} from '@csi-sidecars/csi/testing';
import {
  createTestAuthority,
  FakeClock,
  recordingLogger,
  type RecordingLogger,
  recordingMetrics,
  type RecordingMetrics,
  type TestCertificate,
} from '@csi-sidecars/runtime/testing';
import { createHealth, type Health } from '../src/serve/health.ts';
import { createStreamMetrics } from '../src/serve/metrics.ts';
import { type MetadataServer, startServer } from '../src/serve/server.ts';
import { createService } from '../src/serve/service.ts';
import { tlsSettings, type TlsFlags, type TlsSettings } from '../src/serve/tls-settings.ts';
import type { Settings } from '../src/settings.ts';
import { aClient, type TestClient } from './client.ts';
import { aCluster, type Cluster, type ClusterOptions } from './cluster.ts';

export const allocatedMethod = '/csi.v1.SnapshotMetadata/GetMetadataAllocated';
export const deltaMethod = '/csi.v1.SnapshotMetadata/GetMetadataDelta';
export type AllocatedCall = ServedStream<typeof allocatedMethod>;
export type DeltaCall = ServedStream<typeof deltaMethod>;

const authority = createTestAuthority();
export const issue = (commonName = 'first'): TestCertificate => authority.issue({ commonName, hosts: ['localhost'] });
export const ca: string = authority.ca;
const pair = issue();

export interface ServingOptions extends Omit<ClusterOptions, 'clock'> {
  readonly driver?: StreamHandlers;
  readonly settings?: Partial<Settings>;
  /** Default: ready. */
  readonly state?: 'ready' | 'waiting';
}

export function someSettings(given: Partial<Settings> = {}): Settings {
  return {
    audience: '',
    maxDurationMs: 600_000,
    maxStreams: 256,
    maxStreamsPerUser: 64,
    maxConnections: 512,
    snapshotLabels: 'hidden',
    ...given,
  };
}

export function usualTls(flags: Partial<TlsFlags> = {}): TlsSettings {
  const result = tlsSettings({ minVersion: '', cipherSuites: '', curves: '', ...flags });
  if (result.kind === 'refused') throw new Error(result.reason);
  return result.settings;
}

/** One message with one block. */
export function aMessage(offset: number | bigint, size = 4096): GetMetadataAllocatedResponseInput {
  return {
    block_metadata_type: 'FIXED_LENGTH',
    volume_capacity_bytes: '1073741824',
    block_metadata: [{ byte_offset: String(offset), size_bytes: String(size) }],
  };
}

interface DriverCall {
  readonly method: 'allocated' | 'delta';
  readonly request: object;
  /** Until the deadline that the driver sees. */
  readonly leftMs: number;
}

export interface Serving extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly log: RecordingLogger;
  readonly cluster: Cluster;
  readonly calls: readonly DriverCall[];
  readonly driver: CsiServer;
  readonly server: MetadataServer;
  readonly health: Health;
  readonly metrics: RecordingMetrics;
  /** Ends the streams that run. */
  readonly stopping: AbortController;
  readonly client: TestClient;
  /** Another connection. */
  readonly connect: () => TestClient;
}

export async function serving(options: ServingOptions = {}): Promise<Serving> {
  const clock = new FakeClock();
  const log = recordingLogger();
  const recorded = recordingMetrics();
  const settings = someSettings(options.settings);
  const cluster = aCluster({ ...options, clock });
  const calls: DriverCall[] = [];
  const driver = await serveCsi(recordedHandlers(options.driver ?? {}, calls));
  const streams = createDriverStreams(driver.path);
  const metrics = createStreamMetrics(recorded, { names: settings.snapshotLabels });
  metrics.calls.setDriverName(driverName);
  const health = createHealth();
  if (options.state !== 'waiting') health.setServing();
  const stopping = new AbortController();
  const handler = createService(
    {
      clock,
      log,
      clients: cluster.clients,
      driver: streams,
      metrics,
      isReady: health.isServing,
      stopped: stopping.signal,
    },
    settings,
    driverName,
  );
  const { maxConnections } = settings;
  const deps = { clock, log, health, handler };
  const server = await startServer(deps, { port: 0, pair, tls: usualTls(), maxConnections });
  const clients: TestClient[] = [];
  const connect = (): TestClient => {
    const client = aClient({ port: server.port, ca });
    clients.push(client);
    return client;
  };
  return {
    clock,
    log,
    cluster,
    calls,
    driver,
    server,
    health,
    metrics: recorded,
    stopping,
    client: connect(),
    connect,
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      await server.close();
      streams.close();
      await driver[Symbol.asyncDispose]();
    },
  };
}

/** By default the driver sends one block and ends. */
function recordedHandlers(given: StreamHandlers, calls: DriverCall[]): StreamHandlers {
  const left = (call: AllocatedCall | DeltaCall): number => Number(call.getDeadline()) - Date.now();
  return {
    [allocatedMethod]: (call) => {
      calls.push({ method: 'allocated', request: call.request, leftMs: left(call) });
      const handler = given[allocatedMethod];
      if (handler !== undefined) return handler(call);
      call.write(aMessage(0));
      call.end();
    },
    [deltaMethod]: (call) => {
      calls.push({ method: 'delta', request: call.request, leftMs: left(call) });
      const handler = given[deltaMethod];
      if (handler !== undefined) return handler(call);
      call.write(aMessage(0));
      call.end();
    },
  };
}
