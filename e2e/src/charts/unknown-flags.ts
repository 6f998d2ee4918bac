// SPDX-License-Identifier: Apache-2.0
import { manifests, type ProgramName } from '../../../scripts/manifests.ts';

/** Arguments with a flag that the program does not have. */
export function unknownFlags(program: ProgramName, args: readonly string[]): readonly string[] {
  const manifest = manifests.find(({ name }) => name === program);
  if (manifest === undefined) throw new Error(`no program ${program}`);
  const known = new Set(Object.keys(manifest.flags.flags));
  return args.filter((arg) => !known.has(arg.replace(/^--?/, '').replace(/=.*$/s, '')));
}
