// SPDX-License-Identifier: Apache-2.0
/** The programs that are compared, with their versions. */
import { spawnSync } from 'node:child_process';
import { findProgram, type ControllerName, type Environment, type Program } from '@csi-sidecars/e2e';
import type { MakeName } from './measures.ts';

export interface Make {
  readonly name: MakeName;
  readonly program: Program;
  readonly version: string;
}

/** Ours alone where `UPSTREAM_BIN` names nothing. */
export function findMakes(name: ControllerName, env: Environment): readonly Make[] {
  const { UPSTREAM_BIN: folder = '', ...own } = env;
  const ours = makeOf('ours', findProgram(name, own));
  return folder === '' ? [ours] : [ours, makeOf('upstream', findProgram(name, env))];
}

function makeOf(name: MakeName, program: Program): Make {
  const { status, stdout, stderr } = spawnSync(program.command, [...program.args, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name}: --version ended with ${status}: ${stderr}`);
  const version = stdout.trim().split(/\s+/).at(-1) ?? '';
  return { name, program, version: program.origin === 'source' ? `${version} (from source)` : version };
}
