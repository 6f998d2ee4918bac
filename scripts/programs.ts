// SPDX-License-Identifier: Apache-2.0
/**
 * Holds what `npm run build` left in dist/bin against the promises made for it: a self-contained bundle, upstream's name,
 * the right first line, a code cache that V8 takes, no generated models inside, the exit codes that need no cluster, and, with `--flooded`, what a hostile client does to
 * their HTTP endpoints (flood/). Counts go to reports/.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Metafile } from 'esbuild';
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { wrongExitCodes } from './exit-codes.ts';
import { neverReachedModules } from './client-node.ts';
import { floodPrograms } from './flood/programs.ts';
import { manifests } from './manifests.ts';

const root = join(import.meta.dirname, '..');
/** What distinguishes a program from the others, as far as it can be seen from outside. */
type Trait = 'cluster' | 'version' | 'service';

/** The arguments without which a command ends before it reads a kubeconfig. */
const requiredOf: Readonly<Record<string, readonly string[]>> = {
  'csi-sidecars explain': ['pvc/data'],
  'csi-sidecars audit': ['--driver=hostpath.csi.k8s.io', '--driver-address=/nonexistent/csi.sock'],
};

function bundleOf({ kind, name, commandLine }: ProgramManifest): string {
  if (kind === 'command') return `${name}-commands`;
  return kind === 'node' && commandLine !== name ? `${name}-node` : name;
}

function traitsOf({ kind, name, commandLine, flags }: ProgramManifest): readonly Trait[] {
  const hasVersion = Object.hasOwn(flags.flags, 'version') && commandLine === name;
  const hasCluster = kind === 'controller' || kind === 'combined' || kind === 'command';
  const isService = kind !== 'command';
  return [
    ...(hasCluster ? (['cluster'] as const) : []),
    ...(hasVersion ? (['version'] as const) : []),
    ...(isService ? (['service'] as const) : []),
  ];
}

interface Check {
  readonly title: string;
  /** Left out for programs without this trait. */
  readonly needs?: Trait;
  /** Resolves to undefined when it holds, else to what was found instead; `not applicable: why` counts as skipped. */
  readonly run: (program: Program) => string | undefined | Promise<string | undefined>;
}
interface Program {
  readonly manifest: ProgramManifest;
  readonly name: string;
  /** A copy outside the repository: nothing else of it can be loaded by accident. */
  readonly path: string;
  /** The name of the bundle that its command runs. */
  readonly bundle: string;
  readonly text: string;
  /** The command of a program that has several. */
  readonly command: readonly string[];
  /** What it does not begin without: the socket of a driver that is not there, or what a command is about. */
  readonly required: readonly string[];
}

/** The Node.js that runs this script comes first, whatever else the machine has. */
const ownPath = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`;

function start(program: Program, args: readonly string[], path = ownPath): SpawnSyncReturns<string> {
  return spawnSync(program.path, [...program.command, ...args], {
    encoding: 'utf8',
    env: { PATH: path },
    timeout: 20_000,
  });
}

function exits(code: number, args: readonly string[], stderr: RegExp): (program: Program) => string | undefined {
  return (program) => {
    const result = start(program, args);
    if (result.status !== code) return `exit code ${result.status}, stderr: ${result.stderr.slice(0, 400)}`;
    return stderr.test(result.stderr) ? undefined : `stderr: ${result.stderr.slice(0, 400)}`;
  };
}

/**
 * Runs at the end of a program's process: offers V8 reasons to grow the young generation, and says what came of it. Without
 * the program's own setting that is 16 MiB and more.
 */
const heapProbe = `process.on('exit', () => {
  const kept = Array.from({ length: 64 }, () => Array.from({ length: 16_000 }, () => 0));
  const young = require('node:v8').getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  process.stderr.write('young generation: ' + young.space_size / 2 ** 20 + ' MiB beside ' + kept.length + '\\n');
});`;

/** Prints what V8 did with the code cache of each bundle. */
const cacheProbe = `const vm = require('node:vm');
vm.Script = class extends vm.Script {
  constructor(text, options) {
    super(text, options);
    const outcome = options.cachedData === undefined ? 'missing' : this.cachedDataRejected ? 'refused' : 'taken';
    process.stderr.write(require('node:path').basename(options.filename, '.js') + ': ' + outcome + '\\n');
  }
};`;

const kubeconfigWithProvider = {
  'current-context': 'here',
  contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'u', user: { 'auth-provider': { name: 'oidc' } } }],
};

/** A node binary of another major version in PATH, if the machine has one. */
function olderNode(): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(folder, 'node');
    if (folder.includes('node_modules') || !existsSync(candidate)) continue;
    const version = spawnSync(candidate, ['--version'], { encoding: 'utf8' }).stdout;
    const major = Number(/^v(\d+)/.exec(version)?.[1]);
    if (major >= 18 && major < 24) return folder;
  }
  return undefined;
}

const checks: readonly Check[] = [
  {
    title: 'begins with the interpreter line',
    run: ({ text }) => (text.startsWith('#!/usr/bin/env node\n') ? undefined : text.slice(0, 40)),
  },
  {
    title:
      'holds of client-node what reads kubeconfig files, and none of its generated models and transport; no protobuf library',
    run: ({ name }) => {
      const { outputs } = JSON.parse(readFileSync(join(root, 'dist', `${name}.meta.json`), 'utf8')) as Metafile;
      const unwanted = [
        '@kubernetes/client-node/dist/gen',
        'protobufjs',
        ...neverReachedModules.filter((path) => !path.startsWith('.')),
      ];
      // A module that was read and left out has no bytes in an output.
      const found = Object.values(outputs).flatMap(({ inputs }) =>
        Object.keys(inputs).filter((input) => unwanted.some((path) => input.includes(`node_modules/${path}/`))),
      );
      return found.length === 0 ? undefined : `${found.length} files, e.g. ${found[0]}`;
    },
  },
  {
    title: 'has a code cache that V8 takes',
    run: ({ path, bundle, command }) => {
      const probe = join(dirname(path), 'cache-probe.cjs');
      writeFileSync(probe, cacheProbe);
      const args = ['--require', probe, path, ...command, '--help'];
      const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      return stderr.startsWith(`${bundle}: taken\n`) ? undefined : stderr.slice(0, 400);
    },
  },
  {
    title: 'runs without its code cache, and with half of it',
    run: (program) => {
      const cache = `${join(dirname(program.path), program.bundle)}.${process.arch}.cache`;
      const content = readFileSync(cache);
      const usual = start(program, ['--help']);
      const outcomes = [undefined, content.subarray(0, content.length / 2)].map((other) => {
        rmSync(cache);
        if (other !== undefined) writeFileSync(cache, other);
        const { status, stdout, stderr } = start(program, ['--help']);
        writeFileSync(cache, content);
        return status === 0 && stdout === usual.stdout && stderr === usual.stderr ? 'as usual' : `${status}: ${stderr}`;
      });
      return outcomes.every((outcome) => outcome === 'as usual') ? undefined : outcomes.join('; ').slice(0, 400);
    },
  },
  {
    title: 'runs alone: --version prints its name and version and exits 0',
    needs: 'version',
    run: (program) => {
      const result = start(program, ['--version']);
      const expected = /^\S+ v\d+\.\d+\.\d+\S*\n$/;
      return result.status === 0 && expected.test(result.stdout)
        ? undefined
        : `exit code ${result.status}, stdout ${JSON.stringify(result.stdout)}, stderr ${result.stderr.slice(0, 400)}`;
    },
  },
  { title: 'an unknown flag ends with exit code 2 and is named', run: exits(2, ['--no-such-flag'], /no-such-flag/) },
  {
    title: '--help prints usage and exits 0',
    run: exits(0, ['--help'], /--?(?:csi-address|leader-election|tls-cert-file|kubeconfig)\b/),
  },
  // Only this one loads the library that writes it.
  { title: '--help=all prints every flag and exits 0', run: exits(0, ['--help=all'], /-vmodule/) },
  {
    title: 'a kubeconfig that does not exist is one clear line and a failure',
    needs: 'cluster',
    run: (program) => {
      const result = start(program, ['--kubeconfig=/nonexistent/kubeconfig', ...program.required]);
      if (result.status === 0 || result.status === null) return `exit code ${result.status}`;
      return result.stderr.includes('/nonexistent/kubeconfig') ? undefined : result.stderr.slice(0, 400);
    },
  },
  {
    title: 'reads a kubeconfig: an auth provider in it is one clear line and a failure',
    needs: 'cluster',
    run: (program) => {
      const kubeconfig = join(dirname(program.path), 'kubeconfig');
      writeFileSync(kubeconfig, JSON.stringify(kubeconfigWithProvider));
      const result = start(program, [`--kubeconfig=${kubeconfig}`, ...program.required]);
      if (result.status === 0 || result.status === null) return `exit code ${result.status}`;
      return /no Auth Provider found for name \\?"oidc/.test(result.stderr) ? undefined : result.stderr.slice(0, 400);
    },
  },
  {
    title: 'holds the young generation of its heap at the size it was loaded with',
    run: ({ path, command }) => {
      const probe = join(dirname(path), 'heap-probe.cjs');
      writeFileSync(probe, heapProbe);
      const { stderr } = spawnSync(process.execPath, ['--require', probe, path, ...command, '--help'], {
        encoding: 'utf8',
      });
      const found = /^young generation: (\d+) MiB.*$/m.exec(stderr);
      return Number(found?.[1]) <= 8 ? undefined : (found?.[0] ?? stderr.slice(-400));
    },
  },
  {
    title: 'ends after a signal with the exit code that docs/behaviour/common.md lists for its state',
    needs: 'service',
    run: wrongExitCodes,
  },
  {
    title: 'an older Node.js gets one line that says what is needed',
    run: (program) => {
      const folder = olderNode();
      if (folder === undefined) return 'not applicable: no Node.js 18 to 23 in PATH';
      const result = start(program, ['--help'], `${folder}${delimiter}/usr/bin${delimiter}/bin`);
      const line = /^\S+ needs Node\.js 24 or newer, this is v\d+\.\d+\.\d+\n$/;
      return result.status === 1 && line.test(result.stderr)
        ? undefined
        : `${result.status}: ${result.stderr.slice(0, 400)}`;
    },
  },
];

/** `--flooded` holds them to the other half of the promises, which are about time and memory: nothing may run beside it. */
const [report, run] = process.argv.includes('--flooded')
  ? (['programs-flooded', () => floodPrograms(join(root, 'dist', 'bin'), record)] as const)
  : (['programs', checkPrograms] as const);
const counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
await run();
mkdirSync(join(root, 'reports'), { recursive: true });
writeFileSync(join(root, 'reports', `${report}.json`), JSON.stringify({ ...counts, failures }));
process.stdout.write(`${report}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = counts.failed === 0 ? 0 : 1;

async function checkPrograms(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'csi-sidecars-programs-'));
  try {
    for (const manifest of manifests) {
      const { name } = manifest;
      const traits = traitsOf(manifest);
      const built = join(root, 'dist', 'bin', name);
      if (!existsSync(built)) {
        record(`${name} is built`, `dist/bin/${name} is missing`);
        continue;
      }
      const path = join(scratch, name);
      for (const file of readdirSync(dirname(built))) {
        if (file === name || new RegExp(`^${name}(-node|-commands|-tracing)?(\\.\\w+)?\\.(js|cache)$`).test(file))
          copyFileSync(join(dirname(built), file), join(scratch, file));
      }
      const required = [
        ...(requiredOf[manifest.commandLine] ?? []),
        ...(Object.hasOwn(manifest.flags.flags, 'csi-address') ? ['--csi-address=/nonexistent/csi.sock'] : []),
        ...(manifest.kind === 'combined' ? ['--controllers=attacher,provisioner,resizer,snapshotter'] : []),
      ];
      const [, ...command] = manifest.commandLine.split(' ');
      const bundle = bundleOf(manifest);
      const program: Program = { manifest, name, path, bundle, text: readFileSync(path, 'utf8'), command, required };
      for (const check of checks.filter(({ needs }) => needs === undefined || traits.includes(needs))) {
        const found = await check.run(program);
        record(`${manifest.commandLine} ${check.title}`, found);
      }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function record(title: string, found: string | undefined): void {
  const outcome = found === undefined ? 'passed' : found.startsWith('not applicable') ? 'skipped' : 'failed';
  counts[outcome] += 1;
  const line = found === undefined ? title : `${title}: ${found}`;
  if (outcome === 'failed') failures.push(line);
  process.stdout.write(`${{ passed: 'ok', skipped: 'skipped', failed: 'FAILED' }[outcome]} ${line}\n`);
}
