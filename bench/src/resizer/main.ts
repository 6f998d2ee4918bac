// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- resizer`. */
import { createBoundClaims } from '../side-by-side/bound-claims.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { measureBesideForeign } from '../side-by-side/idle-memory.ts';
import { runSideBySide } from '../side-by-side/run.ts';
import { measureStart } from '../side-by-side/start.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import { measureTakeOver } from '../side-by-side/take-over.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { expandOne, watchClaims } from './claim-watch.ts';
import { askForMore, prepareClasses } from './claims.ts';
import { measureExpandModify } from './expand-modify.ts';
import { measures, type MeasureId } from './measures.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'resizer',
  programs: [{ name: 'csi-resizer', workersFlag: '--workers' }],
  // There are no nodes that could finish an expansion.
  driverFlags: ['--without=node.EXPAND_VOLUME'],
  load: { flag: 'claims', title: 'claims at once' },
  measures,
  units: ['expansion', 'modification'],
  prepare: prepareClasses,
  parts: { start, claims: measureExpandModify, leaders },
  foreign: { kinds: ['PersistentVolume', 'PersistentVolumeClaim', 'Pod'], part: besideForeign },
});

async function start(bed: TestBed, { settleMs }: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchClaims(bed);
  const names = namesOf(bed, 'waiting', 1);
  await createBoundClaims(bed, names);
  await askForMore(bed, names);
  const served = (): Promise<void> => watch.until('it is expanded', () => watch.expandedAtMs.size === 1);
  await measureStart(bed, { method: 'ControllerExpandVolume', served, settleMs }, to);
}

async function leaders(bed: TestBed, _options: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchClaims(bed);
  await measureTakeOver(bed, (what) => expandOne(bed, watch, what), to);
}

async function besideForeign(bed: TestBed, options: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchClaims(bed);
  const proveSynced = (): Promise<number> => expandOne(bed, watch, 'probe');
  await measureBesideForeign(bed, { ...options, proveSynced }, to);
}
