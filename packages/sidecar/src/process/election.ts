// SPDX-License-Identifier: Apache-2.0
/**
 * The work of the process, under a lease or without one. The lease has a client of its own, so that a throttled controller
 * does not lose it. Where an election ends, the process does: what was decided under the lease must not go on.
 */
import {
  type Clock,
  type EventRecorder,
  type LeaderElector,
  type LeadingWork,
  type Logger,
  type Metrics,
  type Random,
  createElectionMetrics,
  createEventRecorder,
  createLeaderElector,
  leaseIdentity,
  leaseName,
  leaseNamespace,
  openGate,
} from '@csi-sidecars/runtime';
import type { LeaderElectionValues } from '../programs/shared-flags.ts';
import { ExitError, exitCodes, orExit } from './exit.ts';
import type { ApiConnection, World } from './world.ts';

export interface ElectionDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly world: Pick<World, 'env' | 'hostName' | 'files'>;
  readonly connect: () => Promise<ApiConnection>;
  /** Told when there is something to be asked about the election's health. */
  readonly onElector: (elector: LeaderElector) => void;
}

export interface ElectionValues extends LeaderElectionValues {
  readonly 'leader-election-labels'?: Readonly<Record<string, string>>;
}

export interface ElectionOptions {
  readonly values: ElectionValues;
  /** Upstream's, before it becomes the name of the Lease. */
  readonly lockName: string;
  readonly release: 'onExit' | 'never';
}

const namespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** Resolves with the exit code. */
export async function runUnderLease(
  deps: ElectionDeps,
  options: ElectionOptions & { readonly work: LeadingWork },
  signal: AbortSignal,
): Promise<number> {
  const { values, work } = options;
  if (!values['leader-election']) {
    await work(signal, openGate);
    return 0;
  }
  const connection = await orExit('Failed to create leaderelection client', deps.connect);
  const events = createEventRecorder(
    { ...deps, client: connection.client, logger: deps.log },
    { component: `${options.lockName}/${deps.world.hostName}` },
  );
  try {
    const serviceAccountNamespace = await namespaceOf(deps);
    const elector = createElector({ ...deps, ...connection, events }, { ...options, serviceAccountNamespace });
    deps.onElector(elector);
    await elector.run(signal, work);
    // Whatever the reason, as upstream: a replica that leads no longer has nothing to do here.
    deps.log.error(undefined, 'Stopped leading');
    return exitCodes.failure;
  } finally {
    await events.flush();
    await connection.close();
  }
}

/** Undefined when the file is not there, or says nothing. */
async function namespaceOf({ world }: ElectionDeps): Promise<string | undefined> {
  try {
    return Buffer.from(await world.files.read(namespaceFile)).toString();
  } catch {
    return undefined;
  }
}

function createElector(
  deps: ElectionDeps & ApiConnection & { readonly events: EventRecorder },
  options: ElectionOptions & { readonly serviceAccountNamespace: string | undefined },
): LeaderElector {
  const { client, clock, random, log, metrics, world, events } = deps;
  const { values, lockName, serviceAccountNamespace } = options;
  try {
    return createLeaderElector(
      { client, clock, random, logger: log, events, metrics: createElectionMetrics(metrics) },
      {
        namespace: leaseNamespace({
          flag: values['leader-election-namespace'],
          podNamespace: world.env['POD_NAMESPACE'],
          serviceAccountNamespace,
        }),
        name: leaseName(lockName),
        identity: leaseIdentity(world.hostName),
        leaseDurationMs: values['leader-election-lease-duration'],
        renewDeadlineMs: values['leader-election-renew-deadline'],
        retryPeriodMs: values['leader-election-retry-period'],
        labels: values['leader-election-labels'] ?? {},
        releaseOnExit: options.release === 'onExit',
      },
    );
  } catch (error) {
    // Upstream panics over durations that contradict each other.
    throw new ExitError(exitCodes.panic, 'Invalid leader election configuration', { cause: error });
  }
}
