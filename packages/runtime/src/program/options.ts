// SPDX-License-Identifier: Apache-2.0
/** The options of a controller, and the parts of a program that have defaults. */
import { hostname } from 'node:os';
import type { ApiClient } from '../api/client.ts';
import type { Environment } from '../api/connection/proxy.ts';
import { type Files, systemFiles } from '../api/cluster/files.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import { systemClock } from '../clock/system-clock.ts';
import { systemRandom } from '../clock/system-random.ts';
import type { PlacedRule } from '../api/policy-rule.ts';
import type { ControllerPorts } from '../controller/controller.ts';
import type { HttpRoute } from '../diagnostics/diagnostics-server.ts';
import type { EventRecorder } from '../event-recorder/recorder.ts';
import type { InformerDeps } from '../informer/create-informer.ts';
import { createInformerFactory, type InformerFactory } from '../informer/factory.ts';
import type { ElectionResult } from '../lease/election-state.ts';
import type { LeadingWork } from '../lease/leader-elector.ts';
import type { LineWriter } from '../log/line-writer.ts';
import type { Logger } from '../log/logger.ts';
import { openLog } from '../log/open-log.ts';
import { openStderr } from '../log/stderr.ts';
import type { Loop } from '../loop/loop.ts';
import type { ScrapedMetrics } from '../metrics/metrics.ts';
import { createRegistry } from '../metrics/registry.ts';
import { nodeProcess } from '../process/node-process.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { ProcessPort } from '../process/run-process.ts';
import type { Webhooks } from '../webhook/webhooks.ts';
import type { ApiParts } from './connect-api.ts';
import type { LeaseOptions } from './under-lease.ts';

/** What is used of client-node's `KubeConfig`. */
export interface ExportedConfig {
  /** The kubeconfig as JSON. */
  readonly exportConfig: () => string;
}

/** The ports from which loops are made. */
export interface RunPorts extends ControllerPorts {
  /** Records events in the name of the controller. They are flushed before the lease is released. */
  readonly events: EventRecorder;
}

/** The ports from which webhooks are made. Standbys have no caches, so there are none. */
export interface WebhookPorts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RunControllerOptions extends Partial<ApiParts>, Partial<ProgramParts> {
  /** Appears in the user agent, in events, in each line of the log. */
  readonly name: string;
  /** A function is called when the lease has been acquired. */
  readonly loops: readonly Loop[] | ((ports: RunPorts) => readonly Loop[]);
  /** Default: no lease. Each process works at once, so two processes disturb each other. */
  readonly lease?: LeaseOptions | undefined;
  /** What runs do in the API. What loops watch, and the lease, need no rule. For `controllerManifests` and for stories, which grant no more. */
  readonly rules?: readonly PlacedRule[];
  /**
   * A path, or the `KubeConfig` of client-node with a server; either is read with the package `@kubernetes/client-node`. Default: the cluster that
   * the process runs in, without that package.
   */
  readonly kubeconfig?: string | ExportedConfig | undefined;
  /** `v1.2.3`, for the user agent. */
  readonly version?: string | undefined;
  /** Requests per second of the controller; default 20. Watches and the lease are not limited by it. Negative: no limit. */
  readonly qps?: number;
  /** Requests that may be sent at once; default 30. */
  readonly burst?: number;
  /** The address of `/metrics` and `/healthz`; default `:8080`. Empty: they are not served. */
  readonly listen?: string | undefined;
  /** Additional routes. One for `/healthz` or `/metrics` replaces the default. */
  readonly routes?: readonly HttpRoute[];
  /** Serves `/debug/explain`, what the process knows of one object: to this machine only, or to everybody who reaches `listen`. Default: neither recorded nor served. */
  readonly debugExplain?: 'loopback' | 'any' | undefined;
  /** Made by `defineWebhooks` of `@csi-sidecars/runtime/webhook`. Each replica serves them, whether it leads or not, from its start to its end. Default: none. */
  readonly webhooks?: Webhooks | ((ports: WebhookPorts) => Webhooks) | undefined;
  /** klog's level: 0 for what operators need, 4 for requests, 5 for each decision. Default 0. */
  readonly verbosity?: number;
  /** Gets a span for each run of a loop, and below it one for each write. Default: runs are not traced. */
  readonly tracer?: Tracer | undefined;
  /** The time from SIGTERM to the exit, whatever still runs. Default 25 s, within the usual grace period of 30 s. */
  readonly drainMs?: number;
  /**
   * How long nothing of a cache may arrive before it has synced: the log then names its watch, with the last failure, and the program ends with 1,
   * so that restarts of its pod show that a definition or a right is missing. Default 300,000: a server that accepts a watch and sends nothing is
   * asked for a list after 150 s. 0: it waits for ever. `optional` watches are not waited for. The time begins with the lease, before which there
   * are no caches.
   */
  readonly syncTimeoutMs?: number | undefined;
}

/** Each part can be replaced without the others. */
export interface ProgramParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Environment;
  /** Tokens, certificates and kubeconfigs are read through it. */
  readonly files: Files;
  readonly hostName: string;
  /** Signals, crashes and the exit. */
  readonly process: ProcessPort;
  /** Default: klog's text on stderr. */
  readonly logger: Logger;
  readonly metrics: ScrapedMetrics;
  readonly createInformers: (deps: InformerDeps) => InformerFactory;
  /** Runs the work when this process leads. Default: under the Lease of `lease`, or at once without one. */
  readonly elect: (work: LeadingWork, signal: AbortSignal) => Promise<ElectionResult>;
}

/** The parts of one program. */
export interface Parts extends Omit<ProgramParts, 'elect'> {
  readonly logWriter: Pick<LineWriter, 'dropped' | 'flush'>;
}

export function partsOf(options: Omit<RunControllerOptions, 'loops'>): Parts {
  const { name, clock = systemClock(), verbosity = 0 } = options;
  const ownLog = (): { readonly log: Logger; readonly writer: Parts['logWriter'] } =>
    openLog({ clock, openStderr: openStderr(clock) }, { program: name, pid: process.pid, verbosity });
  const { log, writer } = options.logger === undefined ? ownLog() : { log: options.logger, writer: noWriter };
  return {
    clock,
    logger: log,
    logWriter: writer,
    random: options.random ?? systemRandom(),
    env: options.env ?? process.env,
    files: options.files ?? systemFiles(),
    hostName: options.hostName ?? hostname(),
    process: options.process ?? nodeProcess(),
    metrics: options.metrics ?? createRegistry(),
    createInformers: options.createInformers ?? createInformerFactory,
  };
}

/** A logger that the author provides writes and flushes by itself. */
const noWriter: Parts['logWriter'] = { dropped: 0, flush: () => Promise.resolve() };
