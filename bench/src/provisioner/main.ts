// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- provisioner`. */
import type { Recording } from '../side-by-side/measures.ts';
import type { Options } from '../side-by-side/options.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';
import { runSideBySide } from '../side-by-side/run.ts';
import { measureTakeOver } from '../side-by-side/take-over.ts';
import { besideForeign } from './beside-foreign.ts';
import { createClaim, createClass } from './claims.ts';
import { measures, type MeasureId } from './measures.ts';
import { measureStartAndStream } from './steady-stream.ts';
import { watchVolumes } from './volume-watch.ts';
import { measureWaitingClaims } from './waiting-claims.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'provisioner',
  programs: [{ name: 'csi-provisioner', workersFlag: '--worker-threads' }],
  load: { flag: 'claims', title: 'waiting claims' },
  measures,
  units: ['created volume', 'deleted volume'],
  prepare: createClass,
  parts: { start: measureStartAndStream, volumes: measureWaitingClaims, leaders },
  foreign: { kinds: ['PersistentVolume', 'PersistentVolumeClaim', 'VolumeAttachment'], part: besideForeign },
});

async function leaders(bed: TestBed, _options: Options, to: Recording<MeasureId>): Promise<void> {
  await using watch = await watchVolumes(bed);
  const serve = async (claim: string): Promise<number> => {
    await createClaim(bed, claim);
    await watch.until(`${claim} is bound`, () => watch.boundAtMs.has(claim));
    return watch.boundAtMs.get(claim) ?? NaN;
  };
  await measureTakeOver(bed, serve, to);
}
