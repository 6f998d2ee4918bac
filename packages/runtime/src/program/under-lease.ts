// SPDX-License-Identifier: Apache-2.0
/**
 * Work under a lease. The lease has a connection and a client of its own, so that a throttled controller does not lose it to
 * its own requests. When an election ends, the process has to end, because work that was decided under the lease must not
 * continue.
 */
import type { Files } from '../api/cluster/files.ts';
import type { Environment } from '../api/connection/proxy.ts';
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import { openGate } from '../controller/start-gate.ts';
import { createEventRecorder } from '../event-recorder/create-event-recorder.ts';
import type { LeaderElectionOptions } from '../lease/election-config.ts';
import { createElectionMetrics } from '../lease/election-report.ts';
import type { ElectionResult } from '../lease/election-state.ts';
import { createLeaderElector, type LeaderElector, type LeadingWork } from '../lease/leader-elector.ts';
import { leaseNamespace } from '../lease/names.ts';
import type { Logger } from '../log/logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ApiConnection } from './connect-api.ts';

export interface LeaseDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly files: Files;
  readonly env: Environment;
  readonly hostName: string;
  /** Opens the connection of the lease. */
  readonly connect: () => Promise<Pick<ApiConnection, 'client' | 'close'>>;
  /** Called as soon as the election can report its health. */
  readonly onElector: (elector: LeaderElector) => void;
}

export interface LeaseOptions extends Omit<LeaderElectionOptions, 'namespace' | 'identity'> {
  /** Default: `POD_NAMESPACE`, else the namespace of the service account, else `default`. */
  readonly namespace?: string | undefined;
  /** Unique among the candidates. Default: the host name, which is the name of the pod, and a random part. */
  readonly identity?: string | undefined;
  /** Reports events about the election. Default: the names of the lease and of the host. */
  readonly component?: string | undefined;
}

const namespaceFile = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

export interface LeasedWork {
  readonly work: LeadingWork;
  /** Undefined: the work begins at once. */
  readonly lease: LeaseOptions | undefined;
}

/**
 * Becomes a candidate, leads once, and ends. Rejects with the errors of `connect` and of the work, and with an
 * `ElectionConfigError` for durations that contradict each other.
 */
export async function runUnderLease(
  deps: LeaseDeps,
  { work, lease }: LeasedWork,
  signal: AbortSignal,
): Promise<ElectionResult> {
  if (lease === undefined) {
    await work(signal, openGate);
    return 'stopped';
  }
  const { hostName, metrics, onElector } = deps;
  const { identity = `${hostName}_${deps.random.uuid()}`, component = `${lease.name}/${hostName}` } = lease;
  const { client, close } = await deps.connect();
  const events = createEventRecorder({ ...deps, client }, { component });
  try {
    const elector = createLeaderElector(
      { ...deps, client, events, metrics: createElectionMetrics(metrics) },
      {
        ...lease,
        identity,
        namespace: await namespaceOfLease(deps, lease.namespace),
      },
    );
    onElector(elector);
    return await elector.run(signal, work);
  } finally {
    await events.flush();
    await close();
  }
}

/** The namespace of a lease. `given`: that of the options or flags. */
export async function namespaceOfLease(
  { env, files }: Pick<LeaseDeps, 'env' | 'files'>,
  given: string | undefined,
): Promise<string> {
  return leaseNamespace({
    flag: given ?? '',
    podNamespace: env['POD_NAMESPACE'],
    serviceAccountNamespace: await serviceAccountNamespace(files),
  });
}

/** Undefined when the file does not exist. */
async function serviceAccountNamespace(files: Files): Promise<string | undefined> {
  try {
    return Buffer.from(await files.read(namespaceFile)).toString();
  } catch {
    return undefined;
  }
}
