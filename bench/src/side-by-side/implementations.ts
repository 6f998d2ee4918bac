// SPDX-License-Identifier: Apache-2.0
/** The programs that are compared, with their versions. All programs of one implementation run together. */
import { spawnSync } from 'node:child_process';
import { findProgram, type Environment, type Program } from '@csi-sidecars/e2e';
import type { ImplementationName } from './measures.ts';
import type { BenchProgram } from './test-bed.ts';

export interface Implementation {
  readonly name: ImplementationName;
  readonly programs: ReadonlyMap<BenchProgram, Program>;
  /** The version of the first program. */
  readonly version: string;
}

/** Only ours if `UPSTREAM_BIN` is not set. */
export function findImplementations(names: readonly BenchProgram[], env: Environment): readonly Implementation[] {
  const { UPSTREAM_BIN: folder = '', ...own } = env;
  const find = (from: Environment): readonly Program[] => names.map((name) => findProgram(name, from));
  const ours = implementationOf('ours', names, find(own));
  return folder === '' ? [ours] : [ours, implementationOf('upstream', names, find(env))];
}

function implementationOf(
  name: ImplementationName,
  names: readonly BenchProgram[],
  programs: readonly Program[],
): Implementation {
  const [first] = programs;
  if (first === undefined) throw new Error('a comparison needs a program');
  return {
    name,
    programs: new Map(names.map((each, index) => [each, programs[index]!])),
    version: versionOf(name, first),
  };
}

function versionOf(name: ImplementationName, { command, args, origin }: Program): string {
  const { status, stdout, stderr } = spawnSync(command, [...args, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name}: --version ended with ${status}: ${stderr}`);
  const version = stdout.trim().split(/\s+/).at(-1) ?? '';
  return origin === 'source' ? `${version} (from source)` : version;
}
