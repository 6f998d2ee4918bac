// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run runtime-package`: packs `packages/runtime`, installs the tarball into an empty project, and runs the example of its README
 * there, twice, against a real API server and with the rights that the package prints for it. Counts go to reports/runtime-package.json.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient, silentLogger, systemClock } from '@csi-sidecars/runtime';
import { startLocal } from '../control-planes/local/start-local.ts';
import { onInterrupt } from '../interruption.ts';
import { repositoryRoot } from '../processes/program.ts';
import { checkProgram } from './check-program.ts';
import { checkMutations } from './check-mutations.ts';
import { checkWebsites } from './check-websites.ts';
import { checkWithoutClientNode } from './check-without-client-node.ts';
import {
  csiRuntime,
  examples,
  installInto,
  installPeer,
  pack,
  storiesOfExamples,
  typeErrors,
  typeErrorsOfPage,
  withConsumers,
} from './install.ts';

const clock = systemClock();
const signal = onInterrupt();
const reports = join(repositoryRoot, 'reports');
mkdirSync(reports, { recursive: true });
// Logs are appended to, and checks read them.
rmSync(join(reports, 'runtime-package'), { recursive: true, force: true });
const counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];

async function check(title: string, work: () => unknown): Promise<void> {
  try {
    const found = await work();
    if (Array.isArray(found) && found.length > 0) throw new Error(found.slice(0, 5).join('\n'));
    counts.passed += 1;
    process.stdout.write(`ok ${title}\n`);
  } catch (error) {
    counts.failed += 1;
    const failure = `${title}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    failures.push(failure);
    process.stdout.write(`FAILED ${failure}\n`);
  }
}

/** client-node's declarations have errors of their own. */
const isOurs = (line: string): boolean => line.includes('@csi-sidecars') || !line.includes('node_modules');

const folder = mkdtempSync(join(tmpdir(), 'csi-sidecars-runtime-package-'));
try {
  const packed = pack(folder);
  await check('the package has JavaScript, declarations, its pages, a licence, the examples, and nothing else', () => [
    ...[
      'README.md',
      'LICENSE',
      'dist/src/index.js',
      'dist/testing/index.d.ts',
      ...examples.map((name) => `example/${name}`),
    ]
      .filter((path) => !packed.files.includes(path))
      .map((path) => `missing: ${path}`),
    ...packed.files.filter(
      (path) =>
        !/^(README\.md|LICENSE|package\.json|(docs|example)\/[a-z.-]+|dist\/(src|testing)\/.*(\.js|\.d\.ts))$/.test(
          path,
        ) || path.includes('.test.'),
    ),
  ]);
  const project = installInto(join(folder, 'project'), packed);
  installPeer(project, '@kubernetes/client-node');
  const [usesKubeConfig = ''] = withConsumers(project, ['kubeconfig.ts']);
  await check('the package is not private and depends on no package of the workspace', () => [
    ...('private' in project.manifest ? ['private'] : []),
    ...Object.keys({ ...(project.manifest['dependencies'] as object) }).filter((name) => name.startsWith('@csi-')),
  ]);
  await check(
    'the examples and our declarations compile beside client-node, in a project that checks libraries too',
    () => typeErrors(project, [usesKubeConfig]).filter((line) => isOurs(line)),
  );
  await check('the examples compile with the configuration of the page about the first ten minutes', () =>
    typeErrorsOfPage(project).filter((line) => isOurs(line)),
  );
  await check('random stories of the examples pass', () => storiesOfExamples(project));
  await check('the types of the example are what its definition gives', () => {
    installPeer(project, 'json-schema-to-typescript');
    const made = csiRuntime(project, 'types', join(project.installed, 'example', 'websites.crd.yaml'));
    return made === readFileSync(join(project.folder, 'websites.types.ts'), 'utf8') ? [] : [made];
  });
  await using controlPlane = await startLocal({ clock, folder: join(folder, 'control-plane') });
  const api = createApiClient(
    { transport: controlPlane.admin, clock, logger: silentLogger },
    { userAgent: 'runtime-package', qps: -1, burst: 0 },
  );
  const patience = { clock, factor: Number(process.env['E2E_TIME_FACTOR'] ?? 1), signal };
  const checks = { controlPlane, api, patience, project, check, reports };
  await check("the KubeConfig of client-node's own is accepted", () => {
    const env = { PATH: process.env['PATH'], KUBECONFIG: controlPlane.adminKubeconfig };
    const { stdout, stderr } = spawnSync(process.execPath, [usesKubeConfig], { env, encoding: 'utf8' });
    return /^namespaces [1-9]/.test(stdout) ? [] : [stdout, stderr];
  });
  await checkProgram(checks);
  await checkWithoutClientNode({ ...checks, packed, folder: join(folder, 'lean') });
  await checkWebsites(checks);
  await checkMutations(checks);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
writeFileSync(join(reports, 'runtime-package.json'), JSON.stringify({ ...counts, failures }));
process.stdout.write(`runtime package: ${counts.passed} passed, ${counts.failed} failed\n`);
process.exitCode = counts.failed === 0 ? 0 : 1;
