// SPDX-License-Identifier: Apache-2.0
/**
 * `ensureTools(['etcd', 'kubectl'])` gives the paths of programs, building those that are neither given by the
 * environment nor in the cache. Safe to call from several processes; a killed build leaves nothing that looks finished.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock, type Clock } from '@csi-sidecars/runtime';
import { type KubernetesRelease, moduleFolder, type Tool, type ToolName, toolOf, versionOf } from './catalogue.ts';
import { withFolderLock } from './folder-lock.ts';
import { buildFlags, locate, type Environment } from './locate.ts';

export interface ToolDeps {
  readonly env: Environment;
  readonly clock: Clock;
  /** Progress, one line at a time. */
  readonly report: (line: string) => void;
  /** The release of Kubernetes' programs. */
  readonly kubernetes: KubernetesRelease;
  /** Builds `tool` to `output`. */
  readonly build: (tool: Tool, output: string) => Promise<void>;
}

export async function ensureTools<Name extends ToolName>(
  names: readonly Name[],
  deps: Partial<ToolDeps> = {},
): Promise<Readonly<Record<Name, string>>> {
  const full: ToolDeps = {
    env: process.env,
    clock: systemClock(),
    report: (line) => void process.stderr.write(`${line}\n`),
    kubernetes: 'current',
    build: goBuild,
    ...deps,
  };
  const paths: Partial<Record<Name, string>> = {};
  // One after the other: the Go compiler uses every core by itself, and a family's first program fills its cache.
  for (const name of names) paths[name] = await ensureTool(toolOf(name, full.kubernetes), full);
  return paths as Record<Name, string>;
}

async function ensureTool(tool: Tool, { env, clock, report, build }: ToolDeps): Promise<string> {
  const location = locate(tool, env);
  if (location.kind === 'given') {
    report(`tools: ${tool.name} from ${location.variable}`);
    return location.path;
  }
  const { path } = location;
  if (existsSync(path)) return path;
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true });
  const onWait = (holder: number): void =>
    report(`tools: waiting for process ${holder}, which builds ${tool.family.name}`);
  await withFolderLock({ path: `${folder}/.lock`, clock, onWait }, async () => {
    if (existsSync(path)) return;
    report(`tools: building ${tool.name} ${versionOf(tool.family)}`);
    const started = clock.monotonicMs();
    const draft = `${path}.${process.pid}.tmp`;
    try {
      await build(tool, draft);
      renameSync(draft, path);
    } finally {
      rmSync(draft, { force: true });
    }
    report(`tools: built ${tool.name} in ${((clock.monotonicMs() - started) / 1000).toFixed(1)} s`);
  });
  return path;
}

/** The compiler's lines reach the user as they come, without addresses: a download error would name the module proxy. */
async function goBuild(tool: Tool, output: string): Promise<void> {
  const command = tool.form === 'tests' ? ['test', '-c', '-vet=off'] : ['build'];
  const child = spawn('go', [...command, ...buildFlags(tool.family), '-o', output, tool.package], {
    cwd: moduleFolder(tool.family),
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once('error', (cause) => reject(new Error(`cannot run go, needed to build ${tool.name}`, { cause })));
  child.once('close', (code, signal) => {
    if (code === 0) resolve();
    else reject(new Error(`building ${tool.name} failed (${signal ?? `exit code ${code}`})`));
  });
  createInterface(child.stderr).on('line', (line) => process.stderr.write(`${withoutAddresses(line)}\n`));
  await promise;
}

export function withoutAddresses(line: string): string {
  return line.replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"']+/gi, '<address>');
}
