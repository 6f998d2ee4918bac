// SPDX-License-Identifier: Apache-2.0
/** Traces of a process, as the rest of the process sees them. */
import type { Clock, Files, Logger, Metrics, Random, Tracer } from '@csi-sidecars/runtime';
import type { TracingSettings } from './settings.ts';

export interface Tracing {
  /** `controller`: stands in each span of a run, because several may share the process. */
  readonly tracerOf: (controller: string) => Tracer;
  /** The resource of all spans names the driver as soon as it is known. */
  readonly setDriver: (name: string) => void;
  /** Exports what waits, for two seconds at most. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface TracingDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly files: Files;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface TracingOptions extends TracingSettings {
  /** The service of the resource. */
  readonly program: string;
  readonly version: string;
  /** The name of the pod. */
  readonly hostName: string;
}

export type OpenTracing = (deps: TracingDeps, options: TracingOptions) => Tracing;
