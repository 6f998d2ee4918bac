// SPDX-License-Identifier: Apache-2.0
/** The package of the runtime as a stranger gets it: packed by npm, installed into an empty project, with the examples beside it. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../processes/program.ts';

export const examples: readonly string[] = [
  'owner-labels.ts',
  'owner-labels.stories.ts',
  'populator.ts',
  'watch.ts',
  'websites.ts',
  'websites.types.ts',
  'websites.stories.ts',
];

export interface PackedFile {
  readonly path: string;
}

export interface Packed {
  readonly tarball: string;
  readonly files: readonly string[];
}

const packageFolder = join(repositoryRoot, 'packages', 'runtime');

export function pack(folder: string): Packed {
  const output = run('npm', ['pack', '--json', '--pack-destination', folder], packageFolder);
  const { filename, files } = packedIn(output);
  return { tarball: join(folder, filename.replace('@', '').replace('/', '-')), files: files.map(({ path }) => path) };
}

interface PackReport {
  readonly filename: string;
  readonly files: readonly PackedFile[];
}

/** npm reports a list, or since version 11 a record by package. */
function packedIn(output: string): PackReport {
  const report = JSON.parse(output) as readonly PackReport[] | Readonly<Record<string, PackReport>>;
  const [packed] = Object.values(report) as readonly PackReport[];
  if (packed === undefined) throw new Error(`npm pack reported nothing: ${output}`);
  return packed;
}

export interface Project {
  readonly folder: string;
  /** The controller of the README. */
  readonly example: string;
  /** All of them. */
  readonly examples: readonly string[];
  /** The folder of the installed package. */
  readonly installed: string;
  /** The manifest of the installed package. */
  readonly manifest: Readonly<Record<string, unknown>>;
}

/** Optional peers are not installed. */
export function installInto(folder: string, { tarball }: Packed): Project {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'stranger', private: true, type: 'module' }));
  npm(['install', tarball], folder);
  const installed = join(folder, 'node_modules', '@csi-sidecars', 'runtime');
  for (const name of examples) copyFileSync(join(installed, 'example', name), join(folder, name));
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Project['manifest'];
  const paths = examples.map((name) => join(folder, name));
  return { folder, installed, example: join(folder, 'owner-labels.ts'), examples: paths, manifest };
}

/** Copies programs of `consumer/` into the project. Returns their paths. */
export function withConsumers({ folder }: Project, names: readonly string[]): readonly string[] {
  return names.map((name) => {
    copyFileSync(join(import.meta.dirname, 'consumer', name), join(folder, name));
    return join(folder, name);
  });
}

/** Errors of TypeScript in the examples, with the configuration of the page about the first ten minutes. */
export function typeErrorsOfPage({ folder, installed, examples: files }: Project): readonly string[] {
  const page = readFileSync(join(installed, 'docs', 'ten-minutes.md'), 'utf8');
  const [, text = ''] = /`tsconfig\.json`:\n\n((?: {4}.*\n)+)/.exec(page) ?? [];
  const { compilerOptions } = JSON.parse(text) as { readonly compilerOptions: object };
  return compiled(folder, { compilerOptions, files });
}

/** Errors of TypeScript in the examples, in these consumers, in all entries of the package, and in the declarations of all packages that these need. */
export function typeErrors(
  { folder, examples: paths, manifest }: Project,
  consumers: readonly string[],
): readonly string[] {
  const entries = Object.keys(manifest['exports'] as object).filter((name) => !name.endsWith('.json'));
  const all = join(folder, 'entries.ts');
  writeFileSync(all, entries.map((name) => `import '${join('@csi-sidecars/runtime', name)}';\n`).join(''));
  const files = [...paths, ...consumers, all];
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'esnext.iterator'],
    module: 'nodenext',
    strict: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node'],
  };
  return compiled(folder, { compilerOptions, files });
}

function compiled(
  folder: string,
  { compilerOptions, files }: { readonly compilerOptions: object; readonly files: readonly string[] },
): readonly string[] {
  const modules = join(repositoryRoot, 'node_modules');
  const config = join(folder, 'tsconfig.json');
  const own = { pretty: false, typeRoots: [join(modules, '@types')] };
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...compilerOptions, ...own }, files }));
  const tsc = join(modules, 'typescript', 'bin', 'tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', config], { cwd: folder, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes('error TS'));
}

/** With the test runner of Node.js, as the page of the package says. Throws with its output. */
export function storiesOfExamples({ folder }: Project): void {
  run(process.execPath, ['--test', 'owner-labels.stories.ts', 'websites.stories.ts'], folder);
}

/** What a command of the package prints. It needs json-schema-to-typescript for the types. */
export function csiRuntime({ folder }: Project, ...args: readonly string[]): string {
  return run(join(folder, 'node_modules', '.bin', 'csi-runtime'), args, folder);
}

/** An optional peer of the package, as a stranger installs it. */
export function installPeer({ folder, manifest }: Project, name: string): void {
  const { [name]: range } = manifest['peerDependencies'] as Record<string, string>;
  npm(['install', '--save-dev', `${name}@${range}`], folder);
}

export function npm([command = '', ...args]: readonly string[], folder: string): void {
  run('npm', [command, '--no-audit', '--no-fund', '--loglevel=error', ...args], folder);
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr || stdout || String(error)}`);
  return stdout;
}
