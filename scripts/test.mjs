// SPDX-License-Identifier: Apache-2.0
// `npm test`: the checks, then every suite, two of them side by side. Each suite leaves its counts in reports/<suite>.json; the last line sums
// them.
// A few failed scenarios and test files run again, alone: scripts/second-runs.mjs.
// How long suites, scenarios and test files took is in reports/durations.json.
// A suite that cannot run here is named, never skipped silently; under CI it is a failure. `--part=NAME` runs a part, see suites.mjs.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { runInLanes } from './lanes.mjs';
import { ensureInstalled, environment, root, run } from './setup.mjs';
import { allPassed, secondRuns } from './second-runs.mjs';
import { chosenSuites } from './suites.mjs';

const chosen = chosenSuites(process.argv);
if (typeof chosen === 'string') {
  process.stderr.write(`${chosen}\n`);
  process.exit(2);
}
ensureInstalled();

// What scenarios leave to chance is the same in every run, so that a failure is about the change. Set it to explore.
process.env.E2E_SEED ??= '1';

const underCi = process.env.CI === 'true' || process.env.CI === '1';
const systemChanges = underCi || process.argv.includes('--allow-system-changes');
// Reaches the suites below this process.
if (systemChanges) process.env.CSI_SIDECARS_ALLOW_SYSTEM_CHANGES = '1';
const hasGo = spawnSync('go', ['version'], { env: environment() }).status === 0;
const reports = join(root, 'reports');
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });

/** Most suites have one thread, and wait besides. */
const lanes = Math.min(2, availableParallelism());
const total = { passed: 0, failed: 0, skipped: 0 };
/** What `scripts/durations.ts` calls a SuiteRun. */
const runs = [];

const pathOf = (report) => join(reports, `${report}.json`);
const read = (report) => JSON.parse(readFileSync(pathOf(report), 'utf8'));

function countsOf(report) {
  const content = read(report);
  if (content.numPassedTests === undefined) return content;
  return {
    passed: content.numPassedTests,
    failed:
      content.numFailedTests +
      content.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length,
    skipped: content.numPendingTests + content.numTodoTests,
  };
}

const began = performance.now();
const secondsSince = (moment) => Math.round(performance.now() - moment) / 1000;

const children = new Set();
/** CPU seconds of the suites that have ended. */
let accounted = cpuOfChildren();
let interrupted = false;
// A terminal sends it to the suites as well. They end in order, and what they print is printed.
process.once('SIGINT', () => (interrupted = true));
process.once('SIGTERM', () => {
  interrupted = true;
  for (const child of children) child.kill('SIGTERM');
});

/** CPU seconds of all children that have ended, with theirs: what Linux adds up for this process. 0 on other systems. */
function cpuOfChildren() {
  if (!existsSync('/proc/self/stat')) return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The fields after the name of the program, which may have spaces; a tick is a hundredth of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** What it prints is printed whole when it ends, because others run beside it. */
async function execute({ command, withGo }) {
  const [program, ...args] = `${command}${hasGo ? (withGo ?? '') : ''}`.split(' ');
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: environment() });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  children.add(child);
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      output.push(Buffer.from(`${program}: ${error.message}\n`));
      resolve(127);
    });
    child.once('close', (status) => resolve(status ?? 128));
  });
  children.delete(child);
  const cpuSeconds = cpuOfChildren() - accounted;
  accounted += cpuSeconds;
  return { code, cpuSeconds, output: Buffer.concat(output) };
}

async function runSuite(suite) {
  if (interrupted) return;
  const run = { name: suite.name, report: suite.report, startSeconds: secondsSince(began) };
  if (suite.needs === 'system changes' && !systemChanges) {
    const line = `${suite.name}: left out, it changes this machine (packages, mounts, cgroups; as root): npm test -- --allow-system-changes`;
    runs.push({ name: suite.name, line });
    return;
  }
  if (suite.needs !== undefined && !hasGo) {
    runs.push({ name: suite.name, line: `${suite.name}: could not run, there is no Go toolchain on this machine` });
    if (underCi) total.failed += 1;
    else total.skipped += 1;
    return;
  }
  process.stdout.write(`--- ${suite.name} begins\n`);
  const started = performance.now();
  const { code, cpuSeconds, output } = await execute(suite);
  const seconds = secondsSince(started);
  process.stdout.write(`\n=== ${suite.name} (${seconds.toFixed(1)} s)\n`);
  process.stdout.write(output);
  let counts = { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  if (suite.report !== undefined) {
    try {
      counts = countsOf(suite.report);
    } catch (error) {
      process.stdout.write(`${suite.name} left no readable report: ${error.message}\n`);
      counts = { passed: 0, failed: 1, skipped: 0 };
    }
    if (code !== 0 && counts.failed === 0) counts = { ...counts, failed: 1 };
  }
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped ?? 0;
  const notApplicable = counts.notApplicable > 0 ? `${counts.notApplicable} not applicable, ` : '';
  const line = `${suite.name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped ?? 0} skipped, ${notApplicable}exit code ${code}`;
  runs.push({ ...run, line, seconds, cpuSeconds, failed: counts.failed });
}

await runInLanes(chosen, lanes, runSuite);

for (const { of, names, ...suite } of secondRuns(chosen, runs, read)) {
  // The second run writes the file of the first.
  const [first, again] = [`${suite.report}-first`, `${suite.report}-again`];
  renameSync(pathOf(suite.report), pathOf(first));
  const before = { ...total };
  await runSuite(suite);
  if (existsSync(pathOf(suite.report))) renameSync(pathOf(suite.report), pathOf(again));
  renameSync(pathOf(first), pathOf(suite.report));
  runs.at(-1).report = again;
  if (total.failed !== before.failed || !allPassed(names, read(again))) continue;
  Object.assign(total, before, { passed: before.passed + of.failed, failed: before.failed - of.failed });
  of.passedAlone = true;
}

writeFileSync(join(reports, 'suites.json'), JSON.stringify(runs));
if (run('node', [join(root, 'scripts/summary.ts')]) !== 0) total.failed += 1;
if (!underCi) process.stdout.write('not run here: kind (needs a container engine)\n');
process.stdout.write(
  `${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}\n`,
);
process.exitCode = total.failed === 0 && !interrupted ? 0 : 1;
