// SPDX-License-Identifier: Apache-2.0
/**
 * An idle leader and a standby with default lease times: how long new work waits once the leader is gone, after SIGTERM and
 * after SIGKILL. Each replica has its own host name, and so its own identity.
 */
import { eventually } from '@csi-sidecars/e2e';
import { leases, type Lease } from '@csi-sidecars/runtime';
import type { Recording } from './measures.ts';
import type { BenchEnvironment, Sidecar } from './environment.ts';

/** Creates work with that name; resolves with the time when it was done, in monotonic milliseconds. */
export type Serve = (name: string) => Promise<number>;

export async function measureTakeOver(environment: BenchEnvironment, serve: Serve, to: Recording): Promise<void> {
  const first = await environment.startSidecar({ host: 'replica-a' });
  await untilLed(environment, 'replica-a');
  const second = await standby(environment, 'replica-b');
  to.record('takeOverTerm', await secondsWithout(environment, serve, { leader: first, signal: 'SIGTERM' }));
  await untilLed(environment, 'replica-b');
  await standby(environment, 'replica-c');
  to.record('takeOverKill', await secondsWithout(environment, serve, { leader: second, signal: 'SIGKILL' }));
}

async function secondsWithout(
  { cluster: { clock } }: BenchEnvironment,
  serve: Serve,
  { leader, signal }: { readonly leader: Sidecar; readonly signal: 'SIGTERM' | 'SIGKILL' },
): Promise<number> {
  leader.process.signal(signal);
  await leader.process.exited;
  const goneMs = clock.monotonicMs();
  return ((await serve(`after-${signal.toLowerCase()}`)) - goneMs) / 1000;
}

/** A replica that has requested the lease and did not get it. */
async function standby(environment: BenchEnvironment, host: string): Promise<Sidecar> {
  const before = environment.requests().length;
  const sidecar = await environment.startSidecar({ host });
  const { process } = sidecar;
  // The leader updates its lease and reads it only after a conflict; a new replica begins by reading it.
  await eventually(environment.cluster.patience, {
    what: `${host} asks for the lease (${process.spec.logFile})`,
    check: () =>
      environment
        .requests()
        .slice(before)
        .some(({ resource, verb }) => resource === 'leases' && verb === 'get'),
  });
  await environment.cluster.clock.sleep(retryMs, environment.cluster.patience.signal);
  return sidecar;
}

/** The default period between attempts, after which both programs are idle. */
const retryMs = 5000;

export async function untilLed({ cluster, namespace }: BenchEnvironment, host: string): Promise<void> {
  const leads = ({ spec }: Lease): boolean => spec?.holderIdentity?.includes(host) === true;
  await eventually(cluster.patience, {
    what: `${host} leads`,
    check: async () => (await cluster.api.list(leases, { namespace })).items.some(leads),
  });
}
