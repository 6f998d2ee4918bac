// SPDX-License-Identifier: Apache-2.0
/** What a sidecar is made of, as ports: the real ones in `system-parts.ts`, others in tests and in the demonstration. */
import type { CsiChannel, ConnectCsiOptions, CallMetrics } from '@csi-sidecars/csi';
import type { Clock, HttpRoute, Logger, Random, Transport } from '@csi-sidecars/runtime';
import type { MetricsRegistry } from '../metrics/registry.ts';

export interface SidecarParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Where log lines go. */
  readonly logSink: LogSink;
  /** Throws for what upstream refuses, with upstream's text. Nothing is connected yet. */
  openCluster(source: ClusterSource, log: Logger): Promise<ClusterConnection>;
  connectDriver(options: ConnectCsiOptions, deps: DriverDeps): Promise<CsiChannel>;
  /** Loaded only when an endpoint is configured. */
  loadMetricsRegistry(): Promise<MetricsRegistry>;
  listen(options: HttpOptions, log: Logger): Promise<AsyncDisposable>;
}

export interface LogSink {
  write(line: string): void;
  /** Resolves when everything is written. */
  flush(): Promise<void>;
}

/** Both empty: the configuration that Kubernetes gives every pod. */
export interface ClusterSource {
  readonly kubeconfig: string;
  readonly master: string;
}

export interface ClusterConnection {
  readonly transport: Transport;
  close(): Promise<void>;
}

export interface DriverDeps {
  readonly log: Logger;
  readonly metrics: CallMetrics;
}

export interface HttpOptions {
  /** As `--http-endpoint` takes it. */
  readonly address: string;
  readonly routes: readonly HttpRoute[];
  /** Whether profiles are served below /debug/pprof/. */
  readonly profiling: 'on' | 'off';
}
