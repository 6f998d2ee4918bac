// SPDX-License-Identifier: Apache-2.0
/**
 * An idle leader and a standby with default lease times: how long a new claim waits once the leader is gone, after SIGTERM
 * and after SIGKILL. Each replica has a host name, so an identity, of its own.
 */
import { eventually } from '@csi-sidecars/e2e';
import { leases, type Lease } from '@csi-sidecars/runtime';
import type { Recording } from './measures.ts';
import type { Place, Sidecar } from './place.ts';
import { watchVolumes, type VolumeWatch } from './volume-watch.ts';

export async function measureTakeOver(place: Place, to: Recording): Promise<void> {
  await using watch = await watchVolumes(place);
  const first = await place.startSidecar('replica-a');
  await untilLed(place, 'replica-a');
  const second = await standby(place, 'replica-b');
  to.record('takeOverTerm', await secondsWithout(place, watch, { leader: first, signal: 'SIGTERM' }));
  await untilLed(place, 'replica-b');
  await standby(place, 'replica-c');
  to.record('takeOverKill', await secondsWithout(place, watch, { leader: second, signal: 'SIGKILL' }));
}

async function secondsWithout(
  place: Place,
  watch: VolumeWatch,
  { leader, signal }: { readonly leader: Sidecar; readonly signal: 'SIGTERM' | 'SIGKILL' },
): Promise<number> {
  const { clock } = place.stand;
  const claim = `after-${signal.toLowerCase()}`;
  leader.process.signal(signal);
  await leader.process.exited;
  const goneMs = clock.monotonicMs();
  await place.createClaim(claim);
  await watch.until(`${claim} is bound`, () => watch.boundAtMs.has(claim));
  return ((watch.boundAtMs.get(claim) ?? NaN) - goneMs) / 1000;
}

/** A replica that has asked for the lease and did not get it. */
async function standby(place: Place, host: string): Promise<Sidecar> {
  const before = place.requests().length;
  const sidecar = await place.startSidecar(host);
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

async function untilLed({ stand, namespace }: Place, host: string): Promise<void> {
  const leads = ({ spec }: Lease): boolean => spec?.holderIdentity?.includes(host) === true;
  await eventually(stand.patience, {
    what: `${host} leads`,
    check: async () => (await stand.api.list(leases, { namespace })).items.some(leads),
  });
}
