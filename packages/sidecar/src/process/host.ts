// SPDX-License-Identifier: Apache-2.0
/**
 * The ports through which a program uses the process and the cluster, so that it starts and stops in a test as it does in a
 * container. Signals and exits are the runtime's (`runProcess`): a run resolves with the exit code.
 */
import type { connectCsi } from '@csi-sidecars/csi';
import type { Clock, Files, Logger, Metrics, Random, ScrapedMetrics } from '@csi-sidecars/runtime';
import type { ApiConnection, CommandOptions, LineWriter } from '@csi-sidecars/runtime/internal';
import type { OpenTracing } from '../tracing/tracing.ts';
import type { Flags } from '../flags/flag.ts';

export type { ApiConnection, ScrapedMetrics };

/** The ports without the cluster. Node programs need no others. */
export interface ProcessHost {
  /** Without interpreter and script. */
  readonly args: readonly string[];
  /** The path by which the program was called. */
  readonly argv0: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly hostName: string;
  /** The start of the process, in milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** `v1.2.3`. */
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly stdout: (text: string) => void;
  /** The text that is printed for `--help=all`. */
  readonly usageText: (program: string, flags: Flags) => Promise<string>;
  /** Opens the output of the log and of usage texts. The notice is the line that reports dropped lines. */
  readonly openStderr: (dropNotice: (count: number) => string) => LineWriter;
  /** Throws when the file cannot be written. */
  readonly writeTerminationLog: (text: string) => void;
  /** Loaded only when an endpoint serves them. */
  readonly openMetrics: () => Promise<ScrapedMetrics>;
}

export interface ProgramHost extends ProcessHost {
  readonly files: Files;
  /** A client with its own connection and rate limit. Rejects for a configuration that cannot work. */
  readonly connectApi: (options: ApiOptions) => Promise<ApiConnection>;
  /** Default: the socket that the address names. */
  readonly connectCsi?: typeof connectCsi;
  /** Called only when tracing is asked for. Default: loads the exporter of OpenTelemetry's SDK. */
  readonly loadTracing?: () => Promise<OpenTracing>;
}

export interface ApiOptions {
  readonly program: string;
  readonly kubeconfig: string;
  readonly master: string;
  readonly qps: number;
  readonly burst: number;
  readonly log: Logger;
  /** The metrics of the client's requests. Default: none. */
  readonly metrics?: Metrics | undefined;
  /** For a command that a person runs. Default: a program of the cluster. */
  readonly command?: CommandOptions;
}
