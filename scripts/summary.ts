// SPDX-License-Identifier: Apache-2.0
/**
 * The end of `npm test`: reads reports/suites.json, writes reports/durations.json, prints the summary and, as the last lines, what failed.
 * Under CI it fails if a test was left out without a declaration.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { durationsOf, summaryOf, type SuiteRun } from './durations.ts';
import { failuresOf } from './failures.ts';
import { declaredLacks, undeclaredSkips } from './skips.ts';

const root = join(import.meta.dirname, '..');
const reports = join(root, 'reports');
const suites = JSON.parse(readFileSync(join(reports, 'suites.json'), 'utf8')) as readonly SuiteRun[];
const durations = durationsOf(suites, read, root);
writeFileSync(join(reports, 'durations.json'), `${JSON.stringify(durations, undefined, 2)}\n`);
process.stdout.write(`${summaryOf(suites, durations).join('\n')}\n`);
const skips = undeclaredSkips(suites, read, declaredLacks(process.env['CSI_SIDECARS_NOT_APPLICABLE']));
if (skips.length > 0) process.stdout.write(`\n=== left out without a declaration\n${skips.join('\n')}\n`);
const unsteady = failuresOf(
  suites.filter(({ passedAlone }) => passedAlone),
  read,
);
if (unsteady.length > 0)
  process.stdout.write(`\n=== failed beside other suites, and passed alone\n${unsteady.join('\n')}\n`);
const failures = failuresOf(
  suites.filter(({ passedAlone }) => !passedAlone),
  read,
);
if (failures.length > 0) process.stdout.write(`\n=== failed\n${failures.join('\n')}\n`);
const underCi = process.env['CI'] === 'true' || process.env['CI'] === '1';
process.exitCode = underCi && skips.length > 0 ? 1 : 0;

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
