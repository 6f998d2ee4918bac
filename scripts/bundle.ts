// SPDX-License-Identifier: Apache-2.0
/**
 * Bundles one program: `node scripts/bundle.ts <binary name>`, run in the program's package by its `build` script. The result are files
 * beside each other in `dist/bin` at the root:
 *
 * - `<name>`: asks for Node.js 24 before anything else runs, in syntax that Node.js 18 still parses, and runs the bundle.
 * - `<name>.js`: the self-contained bundle. The program that combines the others has one for nodes
 *   beside it, `<name>-node.js`, and one for the commands of people, `<name>-commands.js`.
 * - `<name>-tracing.js`: what `--tracing-endpoint` loads, for programs with controllers. It is a file of its own, because V8 parses the whole of
 *   a bundle and most processes do not trace. Measured in docs/adr/0016.
 * - `<name>.<architecture>.cache`: what V8 makes of the bundle's text, so that it does not parse the whole of it at each start. V8 refuses
 *   it in another Node.js, and compiles the bundle then, as it does where there is no cache for its processor. Measured in docs/adr/0014.
 *
 * The programs that run on every node and do little get V8's flags for low memory: every collection is a full one, no code
 * is compiled beyond bytecode, and one thread serves the file system. Measured in docs/adr/0006.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { build, type Metafile, type Plugin } from 'esbuild';
import { clientNodeWithoutTransport } from './client-node.ts';
import { commandNames } from '../packages/all-in-one/src/commands.ts';
import { manifests } from './manifests.ts';

/** The oldest Node.js that must be able to parse the file in order to say what it needs. */
const parseTarget = 'node18';
const neededMajor = 24;

const [, , name] = process.argv;
const manifest = manifests.find((each) => each.name === name);
if (name === undefined || manifest === undefined) {
  process.stderr.write('usage: node scripts/bundle.ts <binary name>, one that scripts/manifests.ts lists\n');
  process.exit(2);
}

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const outDir = join(root, 'dist', 'bin');
const outfile = join(outDir, name);

const lowMemoryFlags = '--semi-space-growth-factor=1 --gc-global --no-opt --no-maglev --no-sparkplug';
const withLowMemory = `require('node:v8').setFlagsFromString('${lowMemoryFlags}');process.env.UV_THREADPOOL_SIZE??='1';`;
/**
 * As process 1 of a container a program without handlers does not react to signals. These catch a signal that comes while the rest of
 * the program is loaded. The program installs its own, and removes these; packages/sidecar/src/process/run-in-process.ts.
 */
const earlyHandlers = "process.on('SIGTERM',()=>process.exit(143));process.on('SIGINT',()=>process.exit(130));";
const nodeCheck = `if(+process.versions.node.split('.')[0]<${neededMajor}){process.stderr.write(${JSON.stringify(name)}+' needs Node.js ${neededMajor} or newer, this is '+process.version+'\\n');process.exit(1)}`;
const loader = `function run(path){
const{readFileSync}=require('node:fs'),{Script,constants}=require('node:vm');
let cachedData;try{cachedData=readFileSync(path+'.'+process.arch+'.cache')}catch{}
const filename=path+'.js';
new Script(readFileSync(filename,'utf8'),{filename,cachedData,importModuleDynamically:constants.USE_MAIN_CONTEXT_DEFAULT_LOADER}).runInThisContext()(exports,require,module,filename,__dirname)
}`;
/** The bundles of a program, with V8's flags of each, and the line that runs one of them. */
const { parts, choice } = planOf(manifest.kind);

interface Part {
  readonly entry: string;
  readonly path: string;
  readonly flags: string;
}

function planOf(kind: ProgramManifest['kind']): { readonly parts: readonly Part[]; readonly choice: string } {
  const forNodes = { path: outfile, flags: lowMemoryFlags };
  const usual = { path: outfile, flags: '' };
  if (kind === 'node') return { parts: [{ entry: 'main.ts', ...forNodes }], choice: `${withLowMemory}run(__filename)` };
  if (kind !== 'combined') return { parts: [{ entry: 'main.ts', ...usual }], choice: 'run(__filename)' };
  return {
    parts: [
      { entry: 'main-node.ts', ...forNodes, path: `${outfile}-node` },
      { entry: 'main-commands.ts', ...usual, path: `${outfile}-commands` },
      { entry: 'main-all.ts', ...usual },
    ],
    choice: `const word=process.argv[2];if(word==='node'){${withLowMemory}run(__filename+'-node')}else run(${JSON.stringify(commandNames)}.includes(word)?__filename+'-commands':__filename)`,
  };
}

/** The import that begins tracing leads to the file beside the bundle. */
const tracingEntry = join(root, 'packages/sidecar/src/tracing/otlp.ts');
const tracingApart: Plugin = {
  name: 'tracing apart',
  setup: (building) => {
    building.onResolve({ filter: /\/otlp\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: `./${manifest.name}-tracing.js`, external: true } : undefined,
    );
  },
};

interface Bundle {
  readonly text: string;
  readonly map: object;
  readonly metafile: Metafile;
}

async function bundle(entryPoint: string): Promise<Bundle> {
  const result = await build({
    entryPoints: [entryPoint],
    outfile,
    write: false,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: parseTarget,
    minifySyntax: true,
    minifyWhitespace: true,
    // Identifiers stay as they are, so functions keep their names. `keepNames` would define the name of every closure again each
    // time that it is made: measured as 5 % of the CPU time of a busy controller.
    sourcemap: 'external',
    legalComments: 'none',
    metafile: true,
    // grpc-js asks for it, late, to serve channelz or load reports, which no program does.
    external: ['@grpc/proto-loader'],
    define: {
      'process.env.CSI_SIDECARS_VERSION': JSON.stringify(`v${version}`),
      // Some libraries locate themselves by it; CommonJS has none.
      'import.meta.url': 'importMetaUrl',
    },
    plugins: [clientNodeWithoutTransport, tracingApart],
    // A name that a stand-in of it does not have.
    logOverride: { 'import-is-undefined': 'error' },
  });
  const contentOf = (suffix: string): string =>
    result.outputFiles.find(({ path }) => path === `${outfile}${suffix}`)?.text ?? '';
  return { text: contentOf('').trimEnd(), map: JSON.parse(contentOf('.map')) as object, metafile: result.metafile };
}

/** A function expression. Its source map is written beside it: with it a developer finds the source of a line in a stack trace. */
function write(path: string, { text, map }: Bundle): void {
  const opening =
    '(function(exports,require,module,__filename,__dirname){const importMetaUrl=require("node:url").pathToFileURL(__filename).href;';
  writeFileSync(`${path}.js`, `${opening}\n${text}\n})\n`);
  const sections = [{ offset: { line: 1, column: 0 }, map }];
  writeFileSync(`${path}.js.map`, JSON.stringify({ version: 3, file: `${basename(path)}.js`, sections }));
}

/** In a process of its own: flags of V8 are part of what a cache is valid for. */
function writeCache(path: string, flags: string): void {
  // With the usual random seed of hash tables each build would have other bytes.
  const args = ['--hash-seed=1', '--random-seed=1', join(import.meta.dirname, 'code-cache.mjs'), path, flags];
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`the code cache of ${path} could not be made`);
}

mkdirSync(outDir, { recursive: true });
const bundles = await Promise.all(parts.map(({ entry }) => bundle(join(process.cwd(), 'src', entry))));
for (const [index, { path, flags }] of parts.entries()) {
  write(path, bundles[index]!);
  writeCache(path, flags);
}
if (bundles.some(({ text }) => text.includes(`${name}-tracing.js`))) {
  const tracing = await bundle(tracingEntry);
  writeFileSync(
    `${outfile}-tracing.js`,
    `const importMetaUrl=require("node:url").pathToFileURL(__filename).href;\n${tracing.text}\n`,
  );
  bundles.push(tracing);
}
writeFileSync(outfile, `#!/usr/bin/env node\n"use strict";${earlyHandlers}${nodeCheck}\n${loader}\n${choice}\n`);
chmodSync(outfile, 0o755);
// A package scope of its own: an extensionless file below `"type": "module"` would be taken for an ES module.
writeFileSync(join(root, 'dist', 'package.json'), '{ "type": "commonjs" }\n');
const metafile: Metafile = {
  inputs: Object.assign({}, ...bundles.map((each) => each.metafile.inputs)) as Metafile['inputs'],
  outputs: Object.fromEntries(
    bundles.flatMap((each, index) =>
      Object.entries(each.metafile.outputs).map(([path, made]) => [`${path}#${index}`, made] as const),
    ),
  ),
};
writeFileSync(join(root, 'dist', `${name}.meta.json`), JSON.stringify(metafile));
const bytes = bundles.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
process.stdout.write(`${name}: ${(bytes / 1024).toFixed(0)} KiB\n`);
