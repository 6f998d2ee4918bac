// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { realArgumentLists } from '../../testing/index.ts';
import { resolveGates } from '../flags/gates.ts';
import { parseFlags } from '../flags/parse.ts';
import { usageText } from '../flags/usage.ts';
import { snapshotterProgram } from './snapshotter.ts';

const programs = {
  'csi-snapshotter': snapshotterProgram,
};

/** Lists that the original refuses as well, by what it says: flags and gates that it has removed. */
const refusedByUpstream: Readonly<Record<string, readonly string[]>> = {
  'csi-snapshotter': ['flag provided but not defined: -enable-volume-group-snapshots'],
};

function refusal(program: (typeof programs)[keyof typeof programs], args: readonly string[]): readonly string[] {
  const result = parseFlags<object>(program.flags, program.syntax, args);
  if (result.kind !== 'parsed') return [result.kind === 'invalid' ? result.message : 'help'];
  if (result.positionals.length > 0) return [`ignored: ${result.positionals.join(' ')}`];
  const settings = (result.values as { 'feature-gates'?: Readonly<Record<string, boolean>> })['feature-gates'] ?? {};
  const gates = resolveGates<string>(program.gates, settings);
  return gates.kind === 'resolved' ? [] : [gates.message];
}

it.each(Object.entries(programs))('given the real argument lists of %s, then each is accepted', (name, program) => {
  const lists = realArgumentLists(name);
  expect(lists.length).toBeGreaterThan(0);
  expect(lists.flatMap((list) => refusal(program, list.args))).toEqual(refusedByUpstream[name] ?? []);
});

it('given a program, then its usage text names every flag with its default', async () => {
  for (const program of Object.values(programs)) {
    const text = await usageText(program.name, program.flags);
    expect(text).toContain(`Usage of ${program.name}:`);
    for (const name of Object.keys(program.flags)) expect(text).toMatch(new RegExp(`-${name}\\b`));
  }
});
