// SPDX-License-Identifier: Apache-2.0
/** A consumer that has the package and nothing else, with the account that the example of the README got before: in a pod, and bundled. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configMaps } from '@csi-sidecars/runtime';
import { eventually } from '../eventually.ts';
import { logTail, startProcess } from '../processes/child-process.ts';
import { bundle } from './bundle.ts';
import { installInto, type Packed, type Project, typeErrors, withConsumers } from './install.ts';
import type { ProgramChecks } from './installed.ts';
import { node22 } from './node-22.ts';

const account = { namespace: 'owners', name: 'owner-labels' };
/** 450 kB when it was written. */
const maxPackedBytes = 1_000_000;
/** 7.0 MB when it was written: js-yaml and lru-cache are 4.9 of it. */
const maxInstalledBytes = 9_000_000;
/** 161 kB when it was written, of which js-yaml is 61. */
const maxInformerBytes = 200_000;
/** What an informer does not need. Of the tracing it has the span of a write. */
const unusedByInformer =
  /dist\/(testing|src\/(cli|controller|diagnostics|dry-run|event-recorder|finalizer|inspection|lease|loop|tracing\/(?!write-span)))\b/;

export interface LeanChecks extends ProgramChecks {
  readonly packed: Packed;
  /** Does not exist. */
  readonly folder: string;
}

export async function checkWithoutClientNode(checks: LeanChecks): Promise<void> {
  const { packed, patience, check, reports, controlPlane, api, folder } = checks;
  const lean = installInto(folder, packed);
  const consumers = withConsumers(lean, ['service-account.ts', 'informer.ts', 'controller.ts']);
  await check('it is small, packed and installed', () => sizesOf(packed, lean));
  await check('without client-node all entries and the examples compile, libraries included', () =>
    typeErrors(lean, consumers),
  );
  await check('without client-node a kubeconfig ends the program with the command that installs it', () => {
    const kubeconfig = controlPlane.adminKubeconfig;
    const { status, stderr } = spawnSync(process.execPath, [lean.example], {
      env: { PATH: process.env['PATH'], KUBECONFIG: kubeconfig, LISTEN: '' },
      encoding: 'utf8',
    });
    return status === 1 && stderr.includes('npm install @kubernetes/client-node') ? [] : [`${status}: ${stderr}`];
  });
  const env = await inPod(checks);
  const start = (name: string, command: string, args: readonly string[]) => {
    const logFile = join(reports, 'runtime-package', `${name}.log`);
    return startProcess({ name, command, args, env, logFile }, patience.clock);
  };
  await check('without client-node the controller works in a pod, on Node.js 22, and ends in order', async () => {
    const ref = { namespace: account.namespace, name: 'in-a-pod' };
    const metadata = { ...ref, annotations: { 'example.com/owner': 'ada' } };
    await api.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
    const program = await start('node-22', node22(), [join(lean.folder, 'controller.ts'), lean.example]);
    try {
      await eventually(patience, {
        what: 'the label of ConfigMap in-a-pod',
        check: async () => (await api.get(configMaps, ref)).metadata?.labels?.['owner'] === 'ada',
      });
    } finally {
      await program.stop(30_000);
    }
    const { code } = await program.exited;
    return code === 0 ? [] : [`exit code ${code}`, logTail(program.spec)];
  });
  await check('a bundle of an informer is small, holds what it uses, and works', async () => {
    const { path, bytes, modules } = await bundle({ folder: lean.folder, entry: 'informer.ts' });
    const unused = modules.filter((module) => unusedByInformer.test(module));
    if (bytes > maxInformerBytes) unused.push(`${bytes} bytes`);
    const program = await start('informer-bundle', process.execPath, [path]);
    try {
      await eventually(patience, {
        what: 'the line of ConfigMap before',
        check: () => logTail(program.spec, 100).includes('added owners/before'),
      });
    } finally {
      await program.stop();
    }
    return unused;
  });
}

function sizesOf({ tarball }: Packed, { folder }: Project): readonly string[] {
  const packedBytes = statSync(tarball).size;
  const paths = globSync('node_modules/**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  const sizes = paths.map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
  const installedBytes = sizes.reduce((sum, size) => sum + size, 0);
  return [
    ...(packedBytes > maxPackedBytes ? [`${packedBytes} bytes packed`] : []),
    ...(installedBytes > maxInstalledBytes ? [`${installedBytes} bytes installed`] : []),
  ];
}

/** The environment of a pod that has the account. */
async function inPod({ controlPlane, project }: LeanChecks): Promise<Readonly<Record<string, string | undefined>>> {
  const folder = join(project.folder, 'service-account');
  mkdirSync(folder);
  writeFileSync(join(folder, 'token'), await controlPlane.tokenFor(account), { mode: 0o600 });
  writeFileSync(join(folder, 'namespace'), account.namespace);
  if (controlPlane.caFile !== undefined) copyFileSync(controlPlane.caFile, join(folder, 'ca.crt'));
  const { hostname, port } = new URL(controlPlane.server);
  return {
    PATH: process.env['PATH'],
    SERVICE_ACCOUNT: folder,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
  };
}
