// SPDX-License-Identifier: Apache-2.0
/**
 * A slow driver has a backlog of detachments, which ten workers process, and then new attachments arrive: how long the attachments
 * wait, and how much they delay the detachments.
 */
import type { Method } from '@csi-sidecars/csi';
import type { RecordedCall } from '@csi-sidecars/test-driver';
import type { Part } from '../side-by-side/bench.ts';
import { quantile } from '../side-by-side/measures.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import { attach, createVolumes, detach, watchAttachments } from './fleet.ts';

const workers = 10;
const detachMs = 2000;
const attachMs = 100;
const newAttachments = 50;
/** After the last deletion; not a multiple of the time of a detachment. */
const laterMs = 3000;

export const storm: Part = async (environment, { quick }, to) => {
  const { clock, patience } = environment.cluster;
  const { control } = environment.driver;
  const leaving = namesOf(environment, 'leaving', quick ? 50 : 500);
  const coming = namesOf(environment, 'coming', newAttachments);
  await using watch = await watchAttachments(environment);
  await createVolumes(environment, [...leaving, ...coming]);
  await environment.startSidecar({ workers });
  await attach(environment, leaving);
  await watch.until('attached', leaving);

  await control.addFault({ method: 'ControllerUnpublishVolume', action: { kind: 'delay', ms: detachMs } });
  await control.addFault({ method: 'ControllerPublishVolume', action: { kind: 'delay', ms: attachMs } });
  const before = (await control.calls()).length;
  const detachedFromMs = clock.monotonicMs();
  await detach(environment, leaving);
  await clock.sleep(laterMs, patience.signal);
  const acceptedAtMs = await attach(environment, coming);
  await watch.until('attached', coming);
  await watch.until('detached', leaving);

  // The watch may be faster than the answer to the request.
  const attachedAtMs = watch.at('attached');
  const waits = [...acceptedAtMs].map(([name, ms]) => Math.max(0, (attachedAtMs.get(name) ?? NaN) - ms) / 1000);
  to.record('stormMedian', quantile(waits, 0.5));
  to.record('stormMost', quantile(waits, 1));
  const lastMs = Math.max(...watch.times('detached', leaving));
  to.record('stormDrained', (lastMs - detachedFromMs) / 1000);
  to.record(
    'stormInFlight',
    mostAtOnce((await control.calls()).slice(before).filter(({ method }) => workerMethods.has(method))),
  );
};

/** Calls of workers only, without the comparison with ListVolumes. */
const workerMethods: ReadonlySet<Method> = new Set<Method>([
  '/csi.v1.Controller/ControllerPublishVolume',
  '/csi.v1.Controller/ControllerUnpublishVolume',
]);

/** The driver's clock has milliseconds: a call that begins in the millisecond in which another ends comes after it. */
function mostAtOnce(calls: readonly RecordedCall[]): number {
  const moments = calls.flatMap(({ beganAtMs, endedAtMs }) => [
    { atMs: beganAtMs, change: 1 },
    ...(endedAtMs === undefined ? [] : [{ atMs: endedAtMs, change: -1 }]),
  ]);
  moments.sort((a, b) => a.atMs - b.atMs || a.change - b.change);
  let [now, most] = [0, 0];
  for (const { change } of moments) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}
