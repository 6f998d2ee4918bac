// SPDX-License-Identifier: Apache-2.0
/** The end of `npm test`: reads reports/suites.json, writes reports/durations.json, prints the summary. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { durationsOf, summaryOf, type SuiteRun } from './durations.ts';

const root = join(import.meta.dirname, '..');
const reports = join(root, 'reports');
const suites = JSON.parse(readFileSync(join(reports, 'suites.json'), 'utf8')) as readonly SuiteRun[];
const durations = durationsOf(suites, read, root);
writeFileSync(join(reports, 'durations.json'), `${JSON.stringify(durations, undefined, 2)}\n`);
process.stdout.write(`${summaryOf(suites, durations).join('\n')}\n`);

function read(report: string): unknown {
  const path = join(reports, `${report}.json`);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // A suite that was killed while it wrote is a failure already.
    return undefined;
  }
}
