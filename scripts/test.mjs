// SPDX-License-Identifier: Apache-2.0
// `npm test`: the checks, then every suite. Each suite leaves its counts in reports/<suite>.json; the last line sums them.
// How long suites, scenarios and test files took is in reports/durations.json.
// A suite that cannot run here is named, never skipped silently; under CI it is a failure.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureInstalled, environment, root, run } from './setup.mjs';

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

/** Suites in the order they run: the cheap ones first. `report` names the file with { passed, failed, skipped }. */
const suites = [
  { name: 'check', command: 'node scripts/check.mjs' },
  // First, because unit tests of the test driver make file systems.
  {
    name: 'packages for file systems and a real kubelet',
    command: 'npm run node-setup --silent -- --packages-only',
    needs: 'system changes',
  },
  {
    name: 'unit',
    // Without the files that need a kubectl, built programs, containers or helm: they are suites of their own.
    command:
      'vitest run --exclude=e2e/src/contract/kubectl.test.ts --exclude=images/src/inspection.test.ts --exclude=images/src/started.test.ts --exclude=charts/*/tests/render/** --exclude=e2e/src/alerts/alerts.test.ts --reporter=default --reporter=json --outputFile.json=reports/vitest.json',
    report: 'vitest',
  },
  { name: 'build', command: 'npm run build --silent' },
  { name: 'programs', command: 'node scripts/programs.ts', report: 'programs' },
  {
    name: 'images',
    command:
      'vitest run --reporter=default --reporter=json --outputFile.json=reports/images.json images/src/inspection.test.ts',
    report: 'images',
  },
  {
    name: 'images in containers',
    command:
      'vitest run --reporter=default --reporter=json --outputFile.json=reports/images-started.json images/src/started.test.ts',
    report: 'images-started',
    needs: 'system changes',
  },
  { name: 'the demonstration on sim', command: 'node e2e/src/demo/main.ts' },
  {
    name: 'e2e on sim',
    // Every scenario that sim can run is run on a real API server below. Without Go it is run here.
    command: `npm run e2e --silent -- --control-plane=sim${hasGo ? ' --only=API' : ''}`,
    report: 'e2e-sim',
  },
  { name: 'csi-sanity', command: 'npm run sanity --silent', report: 'sanity', needs: 'go' },
  { name: 'grpc conformance', command: 'npm run grpc-conformance --silent', report: 'grpc-conformance', needs: 'go' },
  { name: 'kubectl on sim', command: 'npm run kubectl-on-sim --silent', report: 'kubectl', needs: 'go' },
  { name: 'charts', command: 'npm run charts --silent', report: 'charts', needs: 'go' },
  {
    name: 'the runtime as a package',
    command: 'npm run runtime-package --silent',
    report: 'runtime-package',
    needs: 'go',
  },
  { name: 'charts on local', command: 'npm run charts-on-local --silent', report: 'charts-local', needs: 'go' },
  { name: 'e2e on local', command: 'npm run e2e --silent -- --control-plane=local', report: 'e2e-local', needs: 'go' },
  {
    name: 'e2e on local, minimal rights',
    command:
      'npm run e2e --silent -- --control-plane=local --rbac=minimal --only=P-01,P-03,P-05,P-19,P-26,H-02,H-16,A-01,A-02,A-03,A-16,U-01,R-,S-02,S-06,S-10,S-17',
    report: 'e2e-local-minimal',
    needs: 'go',
  },
  { name: 'set-up for a real kubelet', command: 'npm run node-setup --silent', needs: 'system changes' },
  {
    name: 'e2e on node',
    command:
      'npm run e2e --silent -- --control-plane=node --only=M-,N-,I-,P-22,P-23,C-04,R-01,R-03,R-15,S-22,S-23,X-05,X-09 --concurrency=2',
    report: 'e2e-node',
    needs: 'system changes',
  },
];

const total = { passed: 0, failed: 0, skipped: 0 };
/** What `scripts/durations.ts` calls a SuiteRun. */
const runs = [];

function countsOf(report) {
  const content = JSON.parse(readFileSync(join(reports, `${report}.json`), 'utf8'));
  if (content.numPassedTests === undefined) return content;
  return {
    passed: content.numPassedTests,
    failed:
      content.numFailedTests +
      content.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length,
    skipped: content.numPendingTests + content.numTodoTests,
  };
}

for (const suite of suites) {
  if (suite.needs === 'system changes' && !systemChanges) {
    runs.push({
      name: suite.name,
      line: `${suite.name}: left out, it changes this machine (packages, mounts, cgroups; as root): npm test -- --allow-system-changes`,
    });
    continue;
  }
  if (suite.needs !== undefined && !hasGo) {
    runs.push({
      name: suite.name,
      line: `${suite.name}: could not run, there is no Go toolchain on this machine`,
    });
    if (underCi) total.failed += 1;
    else total.skipped += 1;
    continue;
  }
  process.stdout.write(`\n=== ${suite.name}\n`);
  const started = performance.now();
  const [program, ...args] = suite.command.split(' ');
  const code = run(program, args);
  const seconds = Math.round(performance.now() - started) / 1000;
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
  runs.push({
    name: suite.name,
    line: `${suite.name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped ?? 0} skipped, ${notApplicable}exit code ${code}`,
    seconds,
    report: suite.report,
  });
}

writeFileSync(join(reports, 'suites.json'), JSON.stringify(runs));
if (run('node', [join(root, 'scripts/summary.ts')]) !== 0) total.failed += 1;
if (!underCi) process.stdout.write('not run here: kind (needs a container engine)\n');
process.stdout.write(
  `${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}\n`,
);
process.exitCode = total.failed === 0 ? 0 : 1;
