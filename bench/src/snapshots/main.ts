// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- snapshots`. */
import { createBoundClaims } from '../side-by-side/bound-claims.ts';
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { runSideBySide } from '../side-by-side/run.ts';
import { namesOf } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { measures, programs, type MeasureId } from './measures.ts';
import { prepareClass, takeSnapshots } from './objects.ts';
import { idleMemory, startPair } from './pair.ts';
import { watchSnapshots } from './snapshot-watch.ts';
import { measureStartAndStream } from './start-stream.ts';
import { measureTakeDelete, units } from './take-delete.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'snapshots',
  programs: programs.map((name) => ({ name, workersFlag: '--worker-threads' })),
  load: { flag: 'snapshots', title: 'snapshots at once' },
  measures,
  units,
  prepare: prepareClass,
  parts: { start: measureStartAndStream, snapshots: measureTakeDelete },
  foreign: { kinds: ['PersistentVolume', 'PersistentVolumeClaim'], part: besideForeign },
});

async function besideForeign(bed: TestBed, { settleMs }: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchSnapshots(bed);
  const names = namesOf(bed, 'probe', 1);
  await createBoundClaims(bed, names);
  const pair = await startPair(bed);
  // Finished work proves that all caches are filled.
  await takeSnapshots(bed, names);
  await watch.untilReady(names);
  for (const { name, rssMib, anonMib, peakMib } of await idleMemory(bed, pair, settleMs)) {
    to.record(`rssForeign ${name}`, rssMib);
    to.record(`anonForeign ${name}`, anonMib);
    to.record(`peakForeign ${name}`, peakMib);
  }
}
