// SPDX-License-Identifier: Apache-2.0
/** Runs the work of the process, with or without a lease, depending on the flags; see `runUnderLease` of the runtime. */
import type { Clock, LeadingWork, LeaseOptions, Logger, Metrics, Random } from '@csi-sidecars/runtime';
import {
  type ApiConnection,
  ElectionConfigError,
  type LeaderElector,
  leaseIdentity,
  leaseName,
  openGate,
  runUnderLease as runWorkUnderLease,
} from '@csi-sidecars/runtime/internal';
import type { LeaderElectionValues } from '../programs/shared-flags.ts';
import { ExitError, exitCodes, orExit } from './exit.ts';
import type { ProgramHost } from './host.ts';

export interface ElectionDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly host: Pick<ProgramHost, 'env' | 'hostName' | 'files'>;
  readonly connect: () => Promise<ApiConnection>;
  /** Called as soon as the election can report its health. */
  readonly onElector: (elector: LeaderElector) => void;
}

export interface ElectionValues extends LeaderElectionValues {
  readonly 'leader-election-labels'?: Readonly<Record<string, string>>;
}

export interface ElectionOptions {
  readonly values: ElectionValues;
  /** Upstream's lock name, from which the name of the Lease is made. */
  readonly lockName: string;
  readonly release: 'onExit' | 'never';
}

/** Resolves with the exit code. */
export async function runUnderLease(
  { connect, log, host, ...deps }: ElectionDeps,
  { values, lockName, release, work }: ElectionOptions & { readonly work: LeadingWork },
  signal: AbortSignal,
): Promise<number> {
  if (!values['leader-election']) {
    await work(signal, openGate);
    return 0;
  }
  const lease = { ...leaseOf(host, { values, lockName, release }), work };
  const connectLease = () => orExit('Failed to create leaderelection client', connect);
  try {
    const result = await runWorkUnderLease({ ...deps, ...host, logger: log, connect: connectLease }, lease, signal);
    // Upstream ends with 1 whatever the reason. A program that was asked to end, and gave its lease up, has not failed.
    const isInOrder = release === 'onExit' && signal.aborted && result !== 'lost';
    return isInOrder ? exitCodes.success : exitCodes.failure;
  } catch (error) {
    if (!(error instanceof ElectionConfigError)) throw error;
    // Upstream panics over durations that contradict each other.
    throw new ExitError(exitCodes.panic, 'Invalid leader election configuration', { cause: error });
  }
}

/** The lease of a program: upstream's names, and the flags of the election. */
export function leaseOf(
  { hostName }: Pick<ProgramHost, 'hostName'>,
  { values, lockName, release }: ElectionOptions,
): LeaseOptions {
  return {
    namespace: values['leader-election-namespace'],
    name: leaseName(lockName),
    identity: leaseIdentity(hostName),
    component: `${lockName}/${hostName}`,
    leaseDurationMs: values['leader-election-lease-duration'],
    renewDeadlineMs: values['leader-election-renew-deadline'],
    retryPeriodMs: values['leader-election-retry-period'],
    labels: values['leader-election-labels'] ?? {},
    releaseOnExit: release === 'onExit',
  };
}
