// SPDX-License-Identifier: Apache-2.0
/**
 * The process as a set of ports, so that start-up and shutdown run in a test as they run in a container. Nothing below
 * `process/` ends the process or reads its globals: a run resolves with the exit code.
 */
import type { ApiClient, Clock, Logger, Metrics, Random } from '@csi-sidecars/runtime';
import type { LineWriter } from '../logging/line-writer.ts';

export type StopSignal = 'SIGTERM' | 'SIGINT';

export interface World {
  /** Without interpreter and script. */
  readonly args: readonly string[];
  /** The program as it was called. */
  readonly argv0: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly hostName: string;
  /** Of the process, milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** `v1.2.3`. */
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly stdout: (text: string) => void;
  /** Where the log goes, and usage texts. The notice is how the log says that it lost lines. */
  readonly openStderr: (dropNotice: (count: number) => string) => LineWriter;
  readonly onSignal: (listener: (signal: StopSignal) => void) => Disposable;
  /** Exceptions and rejections that nobody caught. */
  readonly onDefect: (listener: (error: unknown) => void) => Disposable;
  /** Throws when the file cannot be written. */
  readonly writeTerminationLog: (text: string) => void;
  /** Undefined when the file is not there. */
  readonly readTextFile: (path: string) => string | undefined;
  /** A client with its own connection and rate limit. Throws for a configuration that cannot work. */
  readonly connectApi: (options: ApiOptions) => Promise<ApiConnection>;
  /** Resolves when it listens; rejects when it cannot. */
  readonly serve: (options: ServeOptions) => Promise<HttpServer>;
  /** Loaded only when somebody can read them. */
  readonly openMetrics: () => Promise<ScrapedMetrics>;
}

export interface ApiOptions {
  readonly program: string;
  readonly kubeconfig: string;
  readonly master: string;
  readonly qps: number;
  readonly burst: number;
  readonly log: Logger;
}

export interface ApiConnection {
  readonly client: ApiClient;
  readonly close: () => Promise<void>;
}

export interface ScrapedMetrics extends Metrics {
  text(): Promise<string>;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

export interface ServeOptions {
  readonly address: string;
  /** Exact path -> answer; anything else is 404. Routes may be added while it serves. */
  readonly routes: ReadonlyMap<string, () => Answer | Promise<Answer>>;
  readonly log: Logger;
  /** The listener failed after it had listened. */
  readonly onFailure: (error: unknown) => void;
}

export interface HttpServer {
  readonly close: () => Promise<void>;
}
