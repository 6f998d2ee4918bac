// SPDX-License-Identifier: Apache-2.0
/** The programs that are compared, with their versions. All programs of one implementation run together. */
import { spawnSync } from 'node:child_process';
import { findProgram, type Environment, type Program, type StartableName } from '@csi-sidecars/e2e';

/** A program with controllers, or one that watches only the driver. */
export type BenchProgram = StartableName | 'livenessprobe';

export interface ProgramTerms {
  readonly name: BenchProgram;
  /** The flag that sets the number of workers. Undefined: it has none. */
  readonly workersFlag: `--${string}` | undefined;
  /** Flags in addition to those of every program. */
  readonly flags?: readonly string[];
}

export interface Implementation {
  readonly name: string;
  readonly terms: readonly ProgramTerms[];
  readonly programs: ReadonlyMap<BenchProgram, Program>;
  /** "v6.4.0", or "csi-provisioner v6.4.0, csi-attacher v4.13.0" if programs differ in it. */
  readonly version: string;
}

/** Only ours if `UPSTREAM_BIN` is not set. */
export function findImplementations(env: Environment, terms: readonly ProgramTerms[]): readonly Implementation[] {
  const { UPSTREAM_BIN: folder = '', ...own } = env;
  const ours = implementationOf('ours', terms, own);
  return folder === '' ? [ours] : [ours, implementationOf('upstream', terms, env)];
}

export function implementationOf(name: string, terms: readonly ProgramTerms[], env: Environment): Implementation {
  const programs = new Map(terms.map((each) => [each.name, findProgram(each.name, env)]));
  const versions = [...programs].map(([program, found]) => [program, versionOf(program, found)] as const);
  const different = new Set(versions.map(([, version]) => version));
  const version = different.size === 1 ? [...different] : versions.map((pair) => pair.join(' '));
  return { name, terms, programs, version: version.join(', ') };
}

function versionOf(name: string, { command, args, origin }: Program): string {
  const { status, stdout, stderr } = spawnSync(command, [...args, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name}: --version ended with ${status}: ${stderr}`);
  const version = stdout.trim().split(/\s+/).at(-1) ?? '';
  return origin === 'source' ? `${version} (from source)` : version;
}
