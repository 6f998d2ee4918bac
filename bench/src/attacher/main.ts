// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- attacher`. */
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { measureBesideForeign } from '../side-by-side/idle-memory.ts';
import { runSideBySide } from '../side-by-side/run.ts';
import { measureStart } from '../side-by-side/start.ts';
import { measureTakeOver } from '../side-by-side/take-over.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import { attachOne, watchAttachments } from './attachment-watch.ts';
import { attach, createVolumes, nodeIds, registerNodes } from './fleet.ts';
import { measures, type MeasureId } from './measures.ts';
import { measureStorm } from './storm.ts';
import { measureAttachDetach } from './attach-detach.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'attacher',
  programs: [{ name: 'csi-attacher', workersFlag: '--worker-threads' }],
  driverFlags: nodeIds.map((id) => `--node=id=${id}`),
  load: { flag: 'attachments', title: 'attachments at once' },
  measures,
  units: ['attachment', 'detachment', 'released volume'],
  prepare: registerNodes,
  parts: { start, attachments: measureAttachDetach, storm: measureStorm, leaders },
  foreign: { kinds: ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment'], part: besideForeign },
});

async function start(bed: TestBed, { settleMs }: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchAttachments(bed);
  const names = namesOf(bed, 'waiting', 1);
  await createVolumes(bed, names);
  await attach(bed, names);
  const served = (): Promise<void> => watch.until('it is attached', () => watch.attachedAtMs.size === 1);
  await measureStart(bed, { method: 'ControllerPublishVolume', served, settleMs }, to);
}

async function leaders(bed: TestBed, _options: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchAttachments(bed);
  await measureTakeOver(bed, (what) => attachOne(bed, watch, what), to);
}

async function besideForeign(bed: TestBed, options: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchAttachments(bed);
  const proveSynced = (): Promise<number> => attachOne(bed, watch, 'probe');
  await measureBesideForeign(bed, { ...options, proveSynced }, to);
}
