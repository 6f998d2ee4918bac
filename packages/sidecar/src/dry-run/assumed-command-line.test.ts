// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { boolFlag, durationFlag, type FlagsOf, type GateSettings, intFlag, stringFlag } from '../flags/flag.ts';
import type { FlagSyntax } from '../flags/parse.ts';
import { gatesFlag, type ProgramFlags } from '../index.ts';
import { readAssumedCommandLine } from './assumed-command-line.ts';

interface Values {
  readonly timeout: number;
  readonly workers: number;
  readonly prefix: string;
  readonly strict: boolean;
  readonly 'feature-gates': GateSettings;
}
const gates = { Topology: { stage: 'GA', defaultValue: true } } as const;
const flags: FlagsOf<Values> = {
  timeout: durationFlag(10_000, ''),
  workers: intFlag(10, ''),
  prefix: stringFlag('pvc', ''),
  strict: boolFlag(false, ''),
  'feature-gates': gatesFlag(gates),
};

function read(args: readonly string[] | undefined, syntax: FlagSyntax = 'pflag') {
  const program: ProgramFlags<Values, 'Topology'> = { name: 'csi-sample', syntax, flags, gates };
  return readAssumedCommandLine(program, args);
}

const defaults = { timeout: 10_000, workers: 10, prefix: 'pvc', strict: false, 'feature-gates': {} };

it('given a command line that this version knows, then it counts as it does for the program, and nothing is assumed', () => {
  const {
    values,
    given,
    gates: enabled,
    assumed,
  } = read(['--timeout=3m', '--strict', '--feature-gates=Topology=false']);
  expect(values).toEqual({ ...defaults, timeout: 180_000, strict: true, 'feature-gates': { Topology: false } });
  expect([...given]).toEqual(['timeout', 'strict', 'feature-gates']);
  expect([enabled, assumed]).toEqual([{ Topology: false }, []]);
});

it('given no command line, then all flags have their defaults, and the answer says so', () => {
  expect(read(undefined)).toMatchObject({ values: defaults, assumed: ['all flags have their defaults'] });
  expect(read([])).toMatchObject({ values: defaults, assumed: [] });
});

it.each([
  ['pflag', ['--new=1', '--timeout=3m', '--newer', 'x', '--strict'], ['new', 'newer']],
  ['go', ['-new=1', '-timeout', '3m', '-newer', 'x', '-strict'], ['new', 'newer']],
  ['pflag', ['--timeout=3m', '--workers=many', '--strict'], ['workers']],
  ['pflag', ['--help', '--timeout=3m', '--strict'], ['help']],
  ['pflag', ['--timeout=3m', '--strict', '--prefix'], ['prefix']],
  ['pflag', ['--new=1', '--new=2', '--new=3', '--timeout=3m', '--strict'], ['new', 'new', 'new']],
] as const)(
  'given flags or values of another version in the syntax %s, %j, then they change nothing, are listed, and the others count',
  (syntax, args, left) => {
    const { values, assumed } = read(args, syntax);
    expect(values).toMatchObject({ ...defaults, timeout: 180_000, strict: true });
    expect(assumed).toEqual(left.map((name) => `--${name} changes nothing`));
  },
);

it('given a gate of another version, then it changes nothing and is listed, and the others count', () => {
  const { gates: enabled, assumed } = read(['--feature-gates=Newest=true,Topology=false,AllAlpha=true']);
  expect(enabled).toEqual({ Topology: false });
  expect(assumed).toEqual(['the feature gate Newest changes nothing']);
});

it.each([
  ['pflag', ['--=x', '--strict']],
  ['pflag', ['-zz', '-q', '--strict']],
  ['go', ['---', '-strict']],
  ['pflag', ['', '-', '--', '--strict']],
] as const)('given a command line that is none, in the syntax %s, %j, then it is read nevertheless', (syntax, args) => {
  expect(read(args, syntax).values).toMatchObject({ timeout: 10_000, prefix: 'pvc' });
});
