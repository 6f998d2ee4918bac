// SPDX-License-Identifier: Apache-2.0
/** `npm run bench -- topology`. */
import { driverNodeFlags } from '../side-by-side/driver-nodes.ts';
import { runSideBySide } from '../side-by-side/run.ts';
import { maximumNodes } from './objects.ts';
import { measures, type MeasureId, units } from './measures.ts';
import { measurePlacement } from './placement.ts';

process.exitCode = await runSideBySide<MeasureId>({
  name: 'topology',
  programs: [{ name: 'csi-provisioner', workersFlag: '--worker-threads', flags: ['--feature-gates=Topology=true'] }],
  load: { flag: 'claims', title: 'claims, and nodes' },
  driverFlags: driverNodeFlags(maximumNodes),
  measures,
  units,
  prepare: async () => undefined,
  parts: {
    selected: (bed, options, to) => measurePlacement(bed, { ...options, binding: 'selected' }, to),
    immediate: (bed, options, to) => measurePlacement(bed, { ...options, binding: 'immediate' }, to),
  },
});
