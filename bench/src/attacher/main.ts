// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- attacher`. */
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { Place } from '../side-by-side/place.ts';
import { memoryOf } from '../side-by-side/process-cost.ts';
import { runSideBySide } from '../side-by-side/run.ts';
import { measureStart } from '../side-by-side/start.ts';
import { measureTakeOver } from '../side-by-side/take-over.ts';
import { attachOne, watchAttachments } from './attachment-watch.ts';
import { attach, createVolumes, namesOf, nodeIds, registerNodes } from './fleet.ts';
import { measures, type MeasureId } from './measures.ts';
import { measureStorm } from './storm.ts';
import { measureThereAndBack } from './there-and-back.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'attacher',
  program: 'csi-attacher',
  rights: 'external-attacher',
  driverFlags: nodeIds.map((id) => `--node=id=${id}`),
  load: { flag: 'attachments', title: 'attachments at once' },
  measures,
  units: ['attachment', 'detachment', 'released volume'],
  prepare: registerNodes,
  parts: { start, attachments: measureThereAndBack, storm: measureStorm, leaders },
  besideForeign,
});

async function start(place: Place, { settleMs }: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchAttachments(place);
  const names = namesOf(place, 'waiting', 1);
  await createVolumes(place, names);
  await attach(place, names);
  const served = (): Promise<void> => watch.until('it is attached', () => watch.attachedAtMs.size === 1);
  await measureStart(place, { method: 'ControllerPublishVolume', served, settleMs }, to);
}

async function leaders(place: Place, _options: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchAttachments(place);
  await measureTakeOver(place, (what) => attachOne(place, watch, what), to);
}

async function besideForeign(place: Place, { settleMs }: Options, to: Recording<MeasureId>): Promise<void> {
  const { clock, patience } = place.stand;
  await using watch = await watchAttachments(place);
  const { process } = await place.startSidecar();
  // An attachment shows that all caches are filled.
  await attachOne(place, watch, 'probe');
  await clock.sleep(settleMs, patience.signal);
  const { rssMib, anonMib } = memoryOf(process.pid);
  to.record('rssForeign', rssMib);
  to.record('anonForeign', anonMib);
}
