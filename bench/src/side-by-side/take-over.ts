// SPDX-License-Identifier: Apache-2.0
/**
 * An idle leader and a standby with default lease times: how long new work waits once the leader is gone, after SIGTERM and
 * after SIGKILL. Each replica has a host name, so an identity, of its own.
 */
import { eventually } from '@csi-sidecars/e2e';
import { leases, type Lease } from '@csi-sidecars/runtime';
import type { Recording } from './measures.ts';
import type { Place, Sidecar } from './place.ts';

/** Creates work of that name; resolves with when it was done, in monotonic milliseconds. */
export type Serve = (name: string) => Promise<number>;

export async function measureTakeOver(
  place: Place,
  serve: Serve,
  to: Recording<'takeOverTerm' | 'takeOverKill'>,
): Promise<void> {
  const first = await place.startSidecar({ host: 'replica-a' });
  await untilLed(place, 'replica-a');
  const second = await standby(place, 'replica-b');
  to.record('takeOverTerm', await secondsWithout(place, serve, { leader: first, signal: 'SIGTERM' }));
  await untilLed(place, 'replica-b');
  await standby(place, 'replica-c');
  to.record('takeOverKill', await secondsWithout(place, serve, { leader: second, signal: 'SIGKILL' }));
}

async function secondsWithout(
  { stand: { clock } }: Place,
  serve: Serve,
  { leader, signal }: { readonly leader: Sidecar; readonly signal: 'SIGTERM' | 'SIGKILL' },
): Promise<number> {
  leader.process.signal(signal);
  await leader.process.exited;
  const goneMs = clock.monotonicMs();
  return ((await serve(`after-${signal.toLowerCase()}`)) - goneMs) / 1000;
}

/** A replica that has asked for the lease and did not get it. */
async function standby(place: Place, host: string): Promise<Sidecar> {
  const before = place.requests().length;
  const sidecar = await place.startSidecar({ host });
  const { process } = sidecar;
  // The leader only updates its lease, at most it reads it after a conflict; who begins reads it.
  await eventually(place.stand.patience, {
    what: `${host} asks for the lease (${process.spec.logFile})`,
    check: () =>
      place
        .requests()
        .slice(before)
        .some(({ resource, verb }) => resource === 'leases' && verb === 'get'),
  });
  await place.stand.clock.sleep(retryMs, place.stand.patience.signal);
  return sidecar;
}

/** The default period between attempts: both programs have settled then. */
const retryMs = 5000;

export async function untilLed({ stand, namespace }: Place, host: string): Promise<void> {
  const leads = ({ spec }: Lease): boolean => spec?.holderIdentity?.includes(host) === true;
  await eventually(stand.patience, {
    what: `${host} leads`,
    check: async () => (await stand.api.list(leases, { namespace })).items.some(leads),
  });
}
