// SPDX-License-Identifier: Apache-2.0
/** What a program adds to the process that all API-using sidecars are. */
import type { CsiChannel } from '@csi-sidecars/csi';
import type { ApiClient, Clock, Logger, Metrics, Random, StartGate } from '@csi-sidecars/runtime';
import type { ProgramFlags } from '../programs/program.ts';
import type { StandardValues } from '../programs/shared-flags.ts';
import type { CommandLine } from './command-line.ts';
import type { Host } from './host.ts';
import type { ClusterSource } from './parts.ts';

export type SidecarValues = StandardValues & {
  /** Of every CSI call, milliseconds. */
  readonly timeout: number;
  readonly master?: string;
  readonly 'enable-pprof'?: boolean;
  readonly 'feature-gates': Readonly<Record<string, boolean>>;
};

export interface SidecarDefinition<V extends SidecarValues, G extends string> {
  readonly program: ProgramFlags<V, G | 'ReleaseLeaderElectionOnExit'>;
  readonly version: string;
  /** Exit code where the original ends through log.Fatal. */
  readonly fatalCode: number;
  /** The program's own checks of the command line; throws an ExitError. */
  readonly check?: (settings: CommandLine<V, G>, host: Host) => void;
  /** Where the cluster is written down. */
  readonly clusterSource: (values: V, host: Host) => ClusterSource;
  /** Before it becomes the name of the Lease. */
  readonly lockName: (driverName: string) => string;
  /** Asks the driver what it can do and puts the controllers together. Nothing runs yet; a throw ends the program. */
  readonly assemble: (context: SidecarContext<V, G>) => Promise<SidecarWork>;
}

export interface SidecarContext<V, G extends string> extends CommandLine<V, G> {
  readonly driverName: string;
  readonly channel: CsiChannel;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly host: Host;
  readonly signal: AbortSignal;
}

export interface SidecarWork {
  /** As the elector's leading work: with an OrderlyStop it finishes what runs, with any other reason it drops it. */
  run(signal: AbortSignal, gate: StartGate): Promise<void>;
  /** Sends what is queued of events, for a bounded time. */
  flush(): Promise<void>;
}
