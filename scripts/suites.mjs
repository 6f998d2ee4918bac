// SPDX-License-Identifier: Apache-2.0
// What `npm test` consists of.
const vitestAgain =
  (config = '') =>
  (report) =>
    `vitest run${config} --reporter=default --reporter=json --outputFile.json=reports/${report}.json`;
const scenariosAgain = (controlPlane) => () => `npm run e2e --silent -- --control-plane=${controlPlane}`;

/**
 * Suites in the order in which they may begin; two run side by side, as `scripts/lanes.mjs` has it. `report` names the file with
 * { passed, failed, skipped }; `withGo` is what the command has besides where there is a Go toolchain; `after` names those whose results it needs;
 * those with the same `alone` run beside no others; one that `waits` most of its time takes no lane; `again` is the command that runs a few of
 * it a second time, without their names.
 */
export const suites = [
  // It writes generated files again, and reads all of them.
  { name: 'check', command: 'node scripts/check.mjs', alone: 'all files' },
  // Before unit tests, because those of the test driver make file systems.
  {
    name: 'packages for file systems and a real kubelet',
    command: 'npm run node-setup --silent -- --packages-only',
    needs: 'system changes',
  },
  { name: 'build', command: 'npm run build --silent' },
  // Only the first run on a machine builds them.
  { name: 'foreign programs', command: 'npm run tools --silent --workspace @csi-sidecars/e2e', needs: 'go' },
  // The longest, and it mostly waits: what needs the cores runs beside it.
  {
    name: 'e2e on local',
    command: 'npm run e2e --silent -- --control-plane=local',
    report: 'e2e-local',
    again: scenariosAgain('local'),
    needs: 'go',
    after: ['build', 'foreign programs'],
  },
  {
    name: 'unit',
    // Without the files that need a kubectl, built programs, containers or helm: they are suites of their own.
    command:
      'vitest run --exclude=e2e/src/contract/kubectl.test.ts --exclude=e2e/src/traces/otel.test.ts --exclude=images/src/inspection.test.ts --exclude=images/src/started.test.ts --exclude=charts/*/tests/render/** --exclude=e2e/src/alerts/alerts.test.ts --reporter=default --reporter=json --outputFile.json=reports/vitest.json',
    report: 'vitest',
    again: vitestAgain(),
    after: ['packages for file systems and a real kubelet', 'build'],
  },
  {
    name: 'set-up for a real kubelet',
    command: 'npm run node-setup --silent',
    needs: 'system changes',
    after: ['foreign programs'],
  },
  {
    name: 'e2e on node',
    command:
      'npm run e2e --silent -- --control-plane=node --only=M-,N-,I-,P-22,P-23,C-04,R-01,R-03,R-15,S-22,S-23,X-05,X-09 --concurrency=2',
    report: 'e2e-node',
    again: scenariosAgain('node'),
    needs: 'system changes',
    after: ['build', 'set-up for a real kubelet'],
    waits: true,
  },
  { name: 'programs', command: 'node scripts/programs.ts', report: 'programs', after: ['build'] },
  {
    name: 'images',
    command:
      'vitest run --reporter=default --reporter=json --outputFile.json=reports/images.json images/src/inspection.test.ts',
    report: 'images',
    again: vitestAgain(),
    after: ['build'],
  },
  { name: 'the demonstration on sim', command: 'node e2e/src/demo/main.ts', after: ['build'] },
  {
    name: 'e2e on sim',
    // Every scenario that sim can run is run on a real API server. Without Go it is run here.
    command: 'npm run e2e --silent -- --control-plane=sim',
    withGo: ' --only=API',
    report: 'e2e-sim',
    again: scenariosAgain('sim'),
    after: ['build'],
  },
  {
    name: 'csi-sanity',
    command: 'npm run sanity --silent',
    report: 'sanity',
    needs: 'go',
    after: ['foreign programs'],
  },
  {
    name: 'grpc conformance',
    command: 'npm run grpc-conformance --silent',
    report: 'grpc-conformance',
    needs: 'go',
    after: ['foreign programs'],
  },
  {
    name: 'kubectl on sim',
    command: 'npm run kubectl-on-sim --silent',
    report: 'kubectl',
    needs: 'go',
    after: ['foreign programs'],
  },
  {
    name: 'traces',
    command: 'npm run otel --silent',
    report: 'otel',
    needs: 'go',
    after: ['build', 'foreign programs'],
  },
  {
    name: 'charts',
    command: 'npm run charts --silent',
    report: 'charts',
    again: vitestAgain(),
    needs: 'go',
    // Its alerts are recorded in real time, and unit tests take all cores.
    after: ['build', 'foreign programs', 'unit'],
  },
  {
    name: 'the runtime as a package',
    command: 'npm run runtime-package --silent',
    report: 'runtime-package',
    needs: 'go',
    after: ['foreign programs'],
  },
  {
    name: 'charts on local',
    command: 'npm run charts-on-local --silent',
    report: 'charts-local',
    again: vitestAgain(' --config e2e/src/charts/vitest.config.ts'),
    needs: 'go',
    after: ['build', 'foreign programs'],
  },
  // Limits of time and memory are what the next two are about. Both mostly wait.
  {
    name: 'programs under flood',
    command: 'node scripts/programs.ts --flooded',
    report: 'programs-flooded',
    after: ['build'],
    alone: 'limits of time and memory',
  },
  {
    name: 'images in containers',
    command:
      'vitest run --reporter=default --reporter=json --outputFile.json=reports/images-started.json images/src/started.test.ts',
    report: 'images-started',
    again: vitestAgain(),
    needs: 'system changes',
    after: ['images', 'packages for file systems and a real kubelet'],
    alone: 'limits of time and memory',
  },
];

/** What public CI runs in parallel, each with what it needs. A suite that others need is in several parts. */
export const parts = {
  unit: ['check', 'packages for file systems and a real kubelet', 'unit'],
  programs: [
    'build',
    'programs',
    'images',
    'the demonstration on sim',
    'e2e on sim',
    'csi-sanity',
    'grpc conformance',
    'kubectl on sim',
    'traces',
    'charts',
    'the runtime as a package',
    'programs under flood',
    'images in containers',
  ],
  local: ['build', 'foreign programs', 'e2e on local', 'charts on local'],
  node: ['packages for file systems and a real kubelet', 'build', 'set-up for a real kubelet', 'e2e on node'],
};

/** The suites of `--part=NAME`; all without it. A sentence if there is no such part. */
export function chosenSuites(args) {
  const part = args.find((arg) => arg.startsWith('--part='))?.slice('--part='.length);
  if (part === undefined) return suites;
  const names = parts[part];
  if (names === undefined) return `There is no part ${part}, but ${Object.keys(parts).join(', ')}.`;
  return suites.filter(({ name }) => names.includes(name));
}
