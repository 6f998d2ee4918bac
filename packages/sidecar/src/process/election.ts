// SPDX-License-Identifier: Apache-2.0
/** The lease of a program by the flags of its election. */
import type { LeaseOptions } from '@csi-sidecars/runtime';
import { ElectionConfigError, leaseIdentity, leaseName } from '@csi-sidecars/runtime/internal';
import type { LeaderElectionValues } from '../programs/shared-flags.ts';
import { ExitError, exitCodes } from './exit.ts';
import type { ProgramHost } from './host.ts';

export interface ElectionValues extends LeaderElectionValues {
  readonly 'leader-election-labels'?: Readonly<Record<string, string>>;
}

export interface ElectionOptions {
  readonly values: ElectionValues;
  /** Upstream's lock name, from which the name of the Lease is made. */
  readonly lockName: string;
  readonly release: 'onExit' | 'never';
}

/** A refusal of the flags of the election ends the run as upstream's panic does. */
export async function orRefusedElection<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ElectionConfigError)) throw error;
    const message = 'Invalid leader election configuration';
    throw new ExitError(exitCodes.panic, message, { cause: error, reason: 'commandLine' });
  }
}

/** The lease of a program: upstream's names, and the flags of the election. Undefined: there is no election. */
export function leaseOf(
  { hostName }: Pick<ProgramHost, 'hostName'>,
  { values, lockName, release }: ElectionOptions,
): LeaseOptions | undefined {
  if (!values['leader-election']) return undefined;
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
