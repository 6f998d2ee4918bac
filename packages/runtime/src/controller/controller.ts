// SPDX-License-Identifier: Apache-2.0
import type { ApiClient } from '../api/client.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { InformerFactory } from '../informer/factory.ts';
import type { Inspection } from '../inspection/inspection.ts';
import type { Logger } from '../log/logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { WorkQueueMetrics } from '../workqueue/queue-metrics.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { RunMetrics } from './run-metrics.ts';
import type { LeaseGate } from './start-gate.ts';

/** A controller, assembled from its ports and not running yet. */
export interface Controller {
  /** Waits for its caches and works until the signal aborts; resolves when nothing of it runs any more. */
  run(signal: AbortSignal): Promise<void>;
}

/** What the flags of every controller decide about its loops. */
export interface LoopSettings {
  /** Number of workers of each queue. */
  readonly workerThreads: number;
  /** Doubles with each failure of a key. */
  readonly retryIntervalStartMs: number;
  readonly retryIntervalMaxMs: number;
}

/** What every controller of a process is given, whatever it controls. */
export interface ControllerPorts {
  readonly client: ApiClient;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Once per registry, shared with the other controllers of the process. */
  readonly queueMetrics: WorkQueueMetrics;
  /** Counts the runs of keyed loops. Default: they are not counted. */
  readonly runMetrics?: RunMetrics | undefined;
  /** Asked before each reconcile and each of its steps. Default: always open. */
  readonly gate?: LeaseGate;
  /** Gets what runs decide, and what queues hold. Default: nothing is recorded. */
  readonly inspection?: Inspection | undefined;
  /** Gets a span for each run. Default: runs are not traced. */
  readonly tracer?: Tracer | undefined;
}
