// SPDX-License-Identifier: Apache-2.0
/**
 * Which file is run under a program's name: upstream's when `UPSTREAM_BIN` names a folder, else ours as it ships
 * (`dist/bin`), else ours from source. The choice is printed, so that a stale bundle is not tested unknowingly.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../tools/locate.ts';

export const programNames = [
  'csi-provisioner',
  'csi-attacher',
  'csi-resizer',
  'csi-node-driver-registrar',
  'livenessprobe',
] as const;
export type ProgramName = (typeof programNames)[number];
/** Those that talk to the API server. */
export type ControllerName = Extract<ProgramName, 'csi-provisioner' | 'csi-attacher' | 'csi-resizer'>;

export interface Program {
  readonly name: ProgramName;
  readonly origin: 'upstream' | 'built' | 'source';
  readonly command: string;
  /** Before the program's own arguments. */
  readonly args: readonly string[];
}

export const repositoryRoot: string = join(import.meta.dirname, '..', '..', '..');

const sources: Readonly<Record<ProgramName, string>> = {
  'csi-provisioner': 'packages/provisioner/src/main.ts',
  'csi-attacher': 'packages/attacher/src/main.ts',
  'csi-resizer': 'packages/resizer/src/main.ts',
  'csi-node-driver-registrar': 'packages/node-driver-registrar/src/main.ts',
  livenessprobe: 'packages/livenessprobe/src/main.ts',
};

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
  return { name, origin: 'source', command: process.execPath, args: [join(root, sources[name])] };
}
