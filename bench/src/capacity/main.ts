// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- capacity`. */
import { runSideBySide } from '../side-by-side/run.ts';
import { measures, type MeasureId } from './measures.ts';
import { driverFlags } from './objects.ts';
import { besideForeign, measurePublishing } from './publish.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'capacity',
  programs: [{ name: 'csi-provisioner', workersFlag: '--worker-threads' }],
  load: { flag: 'items', title: 'items: ten classes in a tenth as many segments' },
  driverFlags,
  measures,
  units: ['object'],
  prepare: async () => undefined,
  parts: { publishing: measurePublishing },
  foreign: { kinds: ['PersistentVolume', 'PersistentVolumeClaim'], part: besideForeign },
});
