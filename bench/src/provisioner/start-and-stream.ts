// SPDX-License-Identifier: Apache-2.0
/** A start with one claim waiting, the memory and CPU time of idling, then a steady stream of claims and their latency. */
import { readFileSync } from 'node:fs';
import { eventually } from '@csi-sidecars/e2e';
import type { Recording } from './measures.ts';
import type { Options } from './options.ts';
import type { Place } from './place.ts';
import { cpuSeconds, memoryOf } from './process-cost.ts';
import { quantile } from '../runtime/report.ts';
import { watchVolumes, type VolumeWatch } from './volume-watch.ts';

const claimsPerSecond = 30;

export async function measureStartAndStream(
  place: Place,
  { settleMs, streamSeconds }: Options,
  to: Recording,
): Promise<void> {
  const { clock, patience } = place.stand;
  await using watch = await watchVolumes(place);
  await place.createClaim('first');
  await watch.until('the claim waits for the driver', () => watch.handedOver.has('first'));

  const { process, spawnedAtMs } = await place.startSidecar();
  await watch.until('the first claim is bound', () => watch.boundAtMs.has('first'));
  const lease = place.requests().find(({ resource }) => resource === 'leases');
  const leaseAtMs = lease?.receivedAtMs;
  if (leaseAtMs !== undefined) to.record('startLease', leaseAtMs - spawnedAtMs);
  const callAtMs = await firstCreateVolumeAtMs(place);
  if (callAtMs !== undefined) to.record('startCall', callAtMs - spawnedAtMs);

  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rssIdle', rssMib);
  to.record('anonIdle', anonMib);
  to.record('cpuStart', cpuSeconds(process.pid));
  await stream(place, watch, { count: claimsPerSecond * streamSeconds, to });
}

async function stream(
  place: Place,
  watch: VolumeWatch,
  { count, to }: { readonly count: number; readonly to: Recording },
): Promise<void> {
  const { clock, patience } = place.stand;
  const acceptedAtMs = new Map<string, number>();
  const creations: Promise<void>[] = [];
  const startMs = clock.monotonicMs();
  for (let n = 0; n < count; n += 1) {
    const name = `streamed-${n}`;
    creations.push(place.createClaim(name).then(() => void acceptedAtMs.set(name, clock.monotonicMs())));
    const nextMs = startMs + ((n + 1) * 1000) / claimsPerSecond;
    await clock.sleep(Math.max(0, nextMs - clock.monotonicMs()), patience.signal);
  }
  await Promise.all(creations);
  await watch.until('all streamed claims are bound', () => watch.boundAtMs.size === count + 1);
  const latencies = (at: ReadonlyMap<string, number>): readonly number[] =>
    // The watch may be faster than the answer to the request.
    [...acceptedAtMs].map(([name, ms]) => Math.max(0, (at.get(name) ?? NaN) - ms)).sort((a, b) => a - b);
  const [volumes, bound] = [latencies(watch.createdAtMs), latencies(watch.boundAtMs)];
  to.record('volumeP50', quantile(volumes, 0.5));
  to.record('volumeP99', quantile(volumes, 0.99));
  to.record('boundP50', quantile(bound, 0.5));
  to.record('boundP99', quantile(bound, 0.99));
}

/** Our driver has a journal; of the hostpath driver there is the log. Undefined of any other. */
async function firstCreateVolumeAtMs({ driver, stand }: Place): Promise<number | undefined> {
  const foreign = (stand.env['CSI_DRIVER_BIN'] ?? '') !== '';
  if (!foreign) {
    const calls = await driver.control.calls();
    return calls.find(({ method }) => method === '/csi.v1.Controller/CreateVolume')?.beganAtMs;
  }
  return await eventually(stand.patience, {
    what: 'the driver has written its log',
    timeoutMs: 5000,
    check: () => klogTimeMs(readFileSync(driver.process.logFile, 'utf8'), stand.clock.nowMs()),
  }).catch(() => undefined);
}

/** A line such as `I0102 15:04:05.678901    1234 server.go:1] GRPC call: /csi.v1.Controller/CreateVolume`, in local time. */
function klogTimeMs(log: string, nowMs: number): number | undefined {
  const match = /^[IWE](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{3})\S* .*Controller\/CreateVolume/m.exec(log);
  if (match === null) return undefined;
  return Date.parse(`${new Date(nowMs).getFullYear()}-${match[1]}-${match[2]}T${match[3]}`);
}
