// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- sources`. */
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import { runSideBySide } from '../side-by-side/run.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { besideForeign as besideForeignVolumes } from '../provisioner/beside-foreign.ts';
import { measureCopies } from './copies.ts';
import { measures, type MeasureId, units } from './measures.ts';
import { createForeignSources, prepareSources } from './objects.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'sources',
  programs: [{ name: 'csi-provisioner', workersFlag: '--worker-threads' }],
  load: { flag: 'copies', title: 'volumes from one source' },
  measures,
  units,
  prepare: prepareSources,
  parts: {
    restores: (bed, options, to) => measureCopies(bed, { ...options, what: 'restore' }, to),
    clones: (bed, options, to) => measureCopies(bed, { ...options, what: 'clone' }, to),
  },
  // Its claims are made with its snapshots, so that each names one.
  foreign: { kinds: ['PersistentVolume'], part: besideForeign },
});

async function besideForeign(bed: TestBed, options: Options, to: Recording<MeasureId>): Promise<void> {
  await createForeignSources(bed, options.foreign);
  await besideForeignVolumes(bed, options, to);
}
