// SPDX-License-Identifier: Apache-2.0
/** The programs that are compared, with their versions. */
import { spawnSync } from 'node:child_process';
import { findProgram, type ControllerName, type Environment, type Program } from '@csi-sidecars/e2e';
import type { ImplementationName } from './measures.ts';

export interface Implementation {
  readonly name: ImplementationName;
  readonly program: Program;
  readonly version: string;
}

/** Only ours if `UPSTREAM_BIN` is not set. */
export function findImplementations(name: ControllerName, env: Environment): readonly Implementation[] {
  const { UPSTREAM_BIN: folder = '', ...own } = env;
  const ours = implementationOf('ours', findProgram(name, own));
  return folder === '' ? [ours] : [ours, implementationOf('upstream', findProgram(name, env))];
}

function implementationOf(name: ImplementationName, program: Program): Implementation {
  const { status, stdout, stderr } = spawnSync(program.command, [...program.args, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name}: --version ended with ${status}: ${stderr}`);
  const version = stdout.trim().split(/\s+/).at(-1) ?? '';
  return { name, program, version: program.origin === 'source' ? `${version} (from source)` : version };
}
