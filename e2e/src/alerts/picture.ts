// SPDX-License-Identifier: Apache-2.0
/** `npm run dashboard-picture`: records a busy hour and draws what the dashboard shows of it. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../processes/program.ts';
import { busyHour } from './busy-hour.ts';
import { evaluatePanels } from './dashboard.ts';
import { toSvg } from './dashboard-svg.ts';
import { inputOf, recorded } from './recordings.ts';
import { intervalSeconds } from './situations.ts';

const hour = 3600;
/** Between two points of a line. */
const stepSeconds = 60;

// Nothing of the hour is repeated: all of it is recorded.
const recording = await recorded(busyHour, {
  scrapes: hour / intervalSeconds + 1,
  limitMs: 120_000,
  signal: new AbortController().signal,
});
const input = { ...inputOf(recording), samples: hour / intervalSeconds + 1 };
const times = Array.from({ length: hour / stepSeconds + 1 }, (_, at) => at * stepSeconds);
const { driverName, monitoring } = recording;
const { dashboard } = monitoring;
const panels = await evaluatePanels({ dashboard, driverName, input, times });
const file = join(repositoryRoot, 'docs', 'operations', 'dashboard.svg');
writeFileSync(file, toSvg({ title: dashboard.title, panels, times }));
process.stdout.write(`${file}: ${statSync(file).size} bytes\n`);
for (const { panel, queries } of panels) {
  for (const { expr, lines } of queries) {
    if (lines.length === 0) process.stdout.write(`nothing to draw: ${panel.title}: ${expr}\n`);
  }
}
