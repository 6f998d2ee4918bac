// SPDX-License-Identifier: Apache-2.0
/**
 * What a program needs of the process and the cluster, as ports, so that it starts and stops in a test as it does in a
 * container. Signals and exits are the runtime's (`runProcess`): a run resolves with the exit code.
 */
import type { Clock, Files, Logger, Metrics, Random, ScrapedMetrics } from '@csi-sidecars/runtime';
import type { ApiConnection, LineWriter } from '@csi-sidecars/runtime/internal';
import type { Flags } from '../flags/flag.ts';

export type { ApiConnection, ScrapedMetrics };

/** Without the cluster: all that the node programs have, and need. */
export interface ProcessWorld {
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
  /** What follows a wrong command line and answers `--help`. */
  readonly usageText: (program: string, flags: Flags) => Promise<string>;
  /** Where the log goes, and usage texts. The notice is how the log reports lost lines. */
  readonly openStderr: (dropNotice: (count: number) => string) => LineWriter;
  /** Throws when the file cannot be written. */
  readonly writeTerminationLog: (text: string) => void;
  /** Loaded only when an endpoint serves them. */
  readonly openMetrics: () => Promise<ScrapedMetrics>;
}

export interface World extends ProcessWorld {
  readonly files: Files;
  /** A client with its own connection and rate limit. Rejects for a configuration that cannot work. */
  readonly connectApi: (options: ApiOptions) => Promise<ApiConnection>;
}

export interface ApiOptions {
  readonly program: string;
  readonly kubeconfig: string;
  readonly master: string;
  readonly qps: number;
  readonly burst: number;
  readonly log: Logger;
  /** Where the client reports its requests. Default: nowhere. */
  readonly metrics?: Metrics | undefined;
}
