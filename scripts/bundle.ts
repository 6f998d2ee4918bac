// SPDX-License-Identifier: Apache-2.0
/**
 * Bundles one program: `node scripts/bundle.ts <binary name>`, run in the program's package by its `build` script.
 * The result is one self-contained CommonJS file without extension, `dist/bin/<name>` at the root, sourcemap apart. It
 * asks for Node.js 24 in one line before anything else runs, in syntax that Node.js 18 still parses.
 * The programs that run on every node and do little get V8's flags for low memory: every collection is a full one, no code
 * is compiled beyond bytecode, and one thread serves the file system. Measured in docs/adr/0006.
 *
 * The program that combines the others holds two bundles, each in a function: one for nodes, and one with the controllers. V8 compiles
 * only the one that is called.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { clientNodeWithoutTransport } from './client-node.ts';
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

const lowMemoryFlags =
  "require('node:v8').setFlagsFromString('--semi-space-growth-factor=1 --gc-global --no-opt --no-maglev --no-sparkplug');process.env.UV_THREADPOOL_SIZE??='1';";
/**
 * As process 1 of a container a program without handlers does not react to signals. These catch a signal that comes while the rest of
 * the file is evaluated. The program installs its own, and removes these; packages/sidecar/src/process/run-in-process.ts.
 */
const earlyHandlers = "process.on('SIGTERM',()=>process.exit(143));process.on('SIGINT',()=>process.exit(130));";
const preamble = [
  '#!/usr/bin/env node',
  `"use strict";${earlyHandlers}const importMetaUrl=require('node:url').pathToFileURL(__filename).href;if(+process.versions.node.split('.')[0]<${neededMajor}){process.stderr.write(${JSON.stringify(name)}+' needs Node.js ${neededMajor} or newer, this is '+process.version+'\\n');process.exit(1)}${manifest.kind === 'node' ? lowMemoryFlags : ''}`,
];

interface Bundle {
  readonly lines: readonly string[];
  readonly map: object;
  readonly metafile: Metafile;
}

async function bundle(entry: string): Promise<Bundle> {
  const result = await build({
    entryPoints: [join(process.cwd(), 'src', entry)],
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
    plugins: [clientNodeWithoutTransport],
    // A name that a stand-in of it does not have.
    logOverride: { 'import-is-undefined': 'error' },
  });
  const contentOf = (suffix: string): string =>
    result.outputFiles.find(({ path }) => path === `${outfile}${suffix}`)?.text ?? '';
  return {
    lines: contentOf('').trimEnd().split('\n'),
    map: JSON.parse(contentOf('.map')) as object,
    metafile: result.metafile,
  };
}

/** A file in the making, with the lines at which the maps of its bundles begin. */
class Output {
  readonly #lines: string[] = [...preamble];
  readonly #sections: object[] = [];
  add(...lines: readonly string[]): void {
    this.#lines.push(...lines);
  }
  addBundle({ lines, map }: Bundle): void {
    this.#sections.push({ offset: { line: this.#lines.length, column: 0 }, map });
    this.add(...lines);
  }
  write(): number {
    const text = [...this.#lines, `//# sourceMappingURL=${name}.map`, ''].join('\n');
    writeFileSync(outfile, text);
    writeFileSync(`${outfile}.map`, JSON.stringify({ version: 3, file: name, sections: this.#sections }));
    return Buffer.byteLength(text);
  }
}

mkdirSync(outDir, { recursive: true });
const output = new Output();
const bundles: Bundle[] = [];
if (manifest.kind === 'combined') {
  const [node, controllers] = await Promise.all([bundle('main-node.ts'), bundle('main-all.ts')]);
  bundles.push(node, controllers);
  // No parentheses around the functions: V8 would compile them at once.
  output.add(`if(process.argv[2]==='node'){${lowMemoryFlags}runNode()}else runControllers();`, 'function runNode(){');
  output.addBundle(node);
  output.add('}', 'function runControllers(){');
  output.addBundle(controllers);
  output.add('}');
} else {
  const only = await bundle('main.ts');
  bundles.push(only);
  output.addBundle(only);
}
const bytes = output.write();
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
process.stdout.write(`${name}: ${(bytes / 1024).toFixed(0)} KiB\n`);
