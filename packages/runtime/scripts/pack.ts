// SPDX-License-Identifier: Apache-2.0
/**
 * `npm pack` of this package: JavaScript and type declarations in `dist`, which compile without client-node, and a package.json that names
 * them. In the workspace the package is imported as its sources, because Node.js strips types outside of node_modules only; so the manifest
 * is replaced while npm packs, and restored afterwards. A pack that was interrupted in between is repaired by the next one.
 *
 * tsc writes for Node.js 22: it lowers `using`, with the functions of tslib, and finds no function that a later Node.js brought.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeKinds } from './kinds.ts';

const folder = join(import.meta.dirname, '..');
const root = join(folder, '..', '..');
const manifest = join(folder, 'package.json');
/** The manifest of the workspace, while npm packs. */
const kept = join(folder, 'dist', 'workspace-package.json');
const licence = join(folder, 'LICENSE');

const [, , step] = process.argv;
if (step === 'prepare') prepare();
else restore();

function prepare(): void {
  restore();
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(folder, 'tsconfig.build.json')], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) process.exit(status ?? 1);
  writeKinds(join(folder, 'dist'));
  const {
    private: _private,
    scripts: _scripts,
    devDependencies: _tools,
    ...described
  } = JSON.parse(readFileSync(manifest, 'utf8'));
  const published = {
    ...described,
    exports: {
      '.': entry('src/index'),
      './internal': entry('src/internal'),
      './testing': entry('testing/index'),
      './webhook': entry('src/webhook/index'),
      './package.json': './package.json',
    },
    bin: { 'csi-runtime': './dist/src/cli/main.js' },
    // Since this version TypeScript runs without a flag.
    engines: { node: '>=22.18' },
  };
  copyFileSync(join(root, 'LICENSE'), licence);
  renameSync(manifest, kept);
  writeFileSync(manifest, `${JSON.stringify(published, undefined, 2)}\n`);
}

function entry(name: string): Readonly<Record<string, string>> {
  return { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` };
}

function restore(): void {
  if (existsSync(kept)) renameSync(kept, manifest);
  rmSync(licence, { force: true });
}
