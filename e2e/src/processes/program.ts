// SPDX-License-Identifier: Apache-2.0
/**
 * Which file is run under a program's name: upstream's when `UPSTREAM_BIN` names a folder, else ours as it ships
 * (`dist/bin`), else ours from source. The choice is printed, so that a stale bundle is not tested unknowingly.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BuiltControllerName, manifests, type ProgramName } from '../../../scripts/manifests.ts';
import type { Environment } from '../tools/locate.ts';

export type { ProgramName };
/** Those that talk to the API server. */
export type ControllerName = BuiltControllerName;

export interface Program {
  readonly name: ProgramName;
  readonly origin: 'upstream' | 'built' | 'source';
  readonly command: string;
  /** Before the program's own arguments. */
  readonly args: readonly string[];
}

export const repositoryRoot: string = join(import.meta.dirname, '..', '..', '..');

/** Those that exist, without the one that runs others as parts. */
export const programNames: readonly ProgramName[] = manifests
  .filter(({ name, kind, commandLine }) => commandLine === name && kind !== 'combined')
  .map(({ name }) => name);

export function findProgram(name: ProgramName, env: Environment, root: string = repositoryRoot): Program {
  const upstream = env['UPSTREAM_BIN'];
  if (upstream !== undefined && upstream !== '') {
    const command = join(upstream, name);
    if (!existsSync(command)) throw new Error(`UPSTREAM_BIN names ${upstream}, which has no ${name}`);
    return { name, origin: 'upstream', command, args: [] };
  }
  const built = join(root, 'dist', 'bin', name);
  // Run by the current Node.js, whatever `node` is in PATH.
  if (existsSync(built)) return { name, origin: 'built', command: process.execPath, args: [built] };
  return { name, origin: 'source', command: process.execPath, args: [sourceOf(name, root)] };
}

function sourceOf(name: ProgramName, root: string): string {
  const manifest = manifests.find((each) => each.name === name);
  if (manifest === undefined) throw new Error(`no manifest is called ${name}`);
  return join(root, 'packages', manifest.package, 'src', 'main.ts');
}
