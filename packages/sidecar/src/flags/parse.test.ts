// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  boolFlag,
  durationFlag,
  featureGatesFlag,
  floatFlag,
  ignoredBoolFlag,
  intFlag,
  labelsFlag,
  stringFlag,
  uintFlag,
  verbosityFlag,
  vmoduleFlag,
} from './flag.ts';
import { parseGoDuration } from './go-duration.ts';
import { parseFlags } from './parse.ts';
import type { FlagSyntax, ParseResult } from './parse.ts';

const flags = {
  v: verbosityFlag('verbosity'),
  name: stringFlag('none', 'a name'),
  election: boolFlag(false, 'lead'),
  procs: ignoredBoolFlag('ignored'),
  timeout: durationFlag(10_000, 'time'),
  workers: uintFlag(10, 'workers'),
  entries: intFlag(0, 'entries'),
  qps: floatFlag(5, 'rate'),
  labels: labelsFlag('labels'),
  gates: featureGatesFlag('gates'),
  vmodule: vmoduleFlag('patterns'),
};

interface Values {
  readonly v: number;
  readonly name: string;
  readonly election: boolean;
  readonly procs: boolean;
  readonly timeout: number;
  readonly workers: number;
  readonly entries: number;
  readonly qps: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly gates: Readonly<Record<string, boolean>>;
  readonly vmodule: readonly string[];
}

const parse = (syntax: FlagSyntax, ...args: string[]): ParseResult<Values> => parseFlags<Values>(flags, syntax, args);

function valuesOf(result: ParseResult<Values>): Values {
  if (result.kind !== 'parsed') throw new Error(`not parsed: ${JSON.stringify(result)}`);
  return result.values;
}

function messageOf(result: ParseResult<Values>): string {
  if (result.kind !== 'invalid') throw new Error(`not invalid: ${JSON.stringify(result)}`);
  return result.message;
}

describe('the syntax of Go flag', () => {
  it('given one dash or two, with = or a separate word, then the value is the same', () => {
    for (const args of [['-name=x'], ['--name=x'], ['-name', 'x'], ['--name', 'x']]) {
      expect(valuesOf(parse('go', ...args)).name).toBe('x');
    }
  });

  it('[common#62] given a boolean followed by a separate word, then it is true and all that follows is ignored', () => {
    const result = parse('go', '--election', 'false', '--name=x');
    expect(valuesOf(result)).toMatchObject({ election: true, name: 'none' });
    expect(result).toMatchObject({ positionals: ['false', '--name=x'] });
  });

  it('given the spellings of a boolean, then each has its value', () => {
    expect(valuesOf(parse('go', '--election')).election).toBe(true);
    for (const word of ['1', 't', 'T', 'true', 'TRUE', 'True']) {
      expect(valuesOf(parse('go', `--election=${word}`)).election).toBe(true);
    }
    for (const word of ['0', 'f', 'F', 'false', 'FALSE', 'False']) {
      expect(valuesOf(parse('go', '--election', `--election=${word}`)).election).toBe(false);
    }
    expect(messageOf(parse('go', '--election=yes'))).toBe('invalid boolean value "yes" for -election: parse error');
  });

  it('given a double dash, then parsing stops', () => {
    expect(valuesOf(parse('go', '--name=x', '--', '--name=y')).name).toBe('x');
  });

  it('given a repeated flag, then the last value wins', () => {
    expect(valuesOf(parse('go', '--name=x', '--name=y')).name).toBe('y');
  });

  it("given what Go refuses, then the message is Go's", () => {
    expect(messageOf(parse('go', '--nosuch'))).toBe('flag provided but not defined: -nosuch');
    expect(messageOf(parse('go', '---name'))).toBe('bad flag syntax: ---name');
    expect(messageOf(parse('go', '-=x'))).toBe('bad flag syntax: -=x');
    expect(messageOf(parse('go', '--name'))).toBe('flag needs an argument: -name');
    expect(messageOf(parse('go', '--workers=-1'))).toBe('invalid value "-1" for flag -workers: parse error');
    expect(messageOf(parse('go', '--v=x'))).toBe(
      'invalid value "x" for flag -v: strconv.ParseUint: parsing "x": invalid syntax',
    );
    expect(messageOf(parse('go', '--toString'))).toBe('flag provided but not defined: -toString');
  });

  it('given -h, -help or --help, then help is asked for', () => {
    for (const word of ['-h', '-help', '--help', '--help=no'])
      expect(parse('go', word)).toEqual({ kind: 'help', isForAll: false });
    for (const word of ['-h=all', '--help=all']) expect(parse('go', word)).toEqual({ kind: 'help', isForAll: true });
  });
});

describe('the syntax of pflag', () => {
  it('given the shorthand, then its value may be glued, after = or the next word', () => {
    for (const args of [['-v5'], ['-v=5'], ['-v', '5'], ['--v=5'], ['--v', '5']]) {
      expect(valuesOf(parse('pflag', ...args)).v).toBe(5);
    }
  });

  it('given other words between flags, then the flags after them are parsed as well', () => {
    const result = parse('pflag', 'word', '--name=x', 'other', '--election');
    expect(valuesOf(result)).toMatchObject({ name: 'x', election: true });
    expect(result).toMatchObject({ positionals: ['word', 'other'] });
  });

  it('given a long flag with one dash, then its first letter is an unknown shorthand', () => {
    expect(messageOf(parse('pflag', '-name=x'))).toBe("unknown shorthand flag: 'n' in -name=x");
  });

  it("given what pflag refuses, then the message is pflag's", () => {
    expect(messageOf(parse('pflag', '--nosuch=1'))).toBe('unknown flag: --nosuch');
    expect(messageOf(parse('pflag', '--name'))).toBe('flag needs an argument: --name');
    expect(messageOf(parse('pflag', '-v'))).toBe("flag needs an argument: 'v' in -v");
    expect(messageOf(parse('pflag', '--timeout=5'))).toBe('invalid argument "5" for "--timeout" flag: parse error');
    expect(messageOf(parse('pflag', '-vx'))).toBe(
      'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax',
    );
  });

  it('given -h or --help, then help is asked for', () => {
    expect(parse('pflag', '-h')).toEqual({ kind: 'help', isForAll: false });
    expect(parse('pflag', '--help')).toEqual({ kind: 'help', isForAll: false });
    expect(parse('pflag', '--help=all')).toEqual({ kind: 'help', isForAll: true });
  });
});

describe('values', () => {
  it('given no flags, then maps and lists are empty', () => {
    const { labels, gates, vmodule } = valuesOf(parse('go'));
    expect([labels, gates, vmodule]).toEqual([{}, {}, []]);
  });

  it('[common#63] given labels in two flags, then both are kept', () => {
    expect(valuesOf(parse('go', '--labels=a:b', '--labels=c:d')).labels).toEqual({ a: 'b', c: 'd' });
    expect(valuesOf(parse('pflag', '--labels', 'a:b,c:d')).labels).toEqual({ a: 'b', c: 'd' });
  });

  it('[common#64] given an empty or malformed list of labels, then the command line is refused', () => {
    for (const text of ['', 'a', 'a:b:c', 'a:b,']) {
      expect(messageOf(parse('go', `--labels=${text}`))).toContain('malformed item in list of labels: ');
    }
  });

  it("given durations, then Go's syntax holds and a unit is mandatory", () => {
    const cases: readonly (readonly [string, number | undefined])[] = [
      ['1m50s', 110_000],
      ['500ms', 500],
      ['137s', 137_000],
      ['1200s', 1_200_000],
      ['1.5h', 5_400_000],
      ['-2s', -2_000],
      ['0', 0],
      ['1ns', 1e-6],
      ['5', undefined],
      ['', undefined],
      ['1 s', undefined],
      ['s', undefined],
    ];
    expect(cases.map(([text]) => [text, parseGoDuration(text)])).toEqual(cases);
  });

  it("given numbers, then base prefixes and decimal fractions are Go's", () => {
    expect(valuesOf(parse('go', '--workers=0x10', '--entries=-017', '--qps=25.0'))).toMatchObject({
      workers: 16,
      entries: -15,
      qps: 25,
    });
    expect(messageOf(parse('go', '--workers=08'))).toContain('parse error');
    expect(messageOf(parse('go', '--v=2147483648'))).toContain('value out of range');
  });

  it('given --automaxprocs with no, an empty or a boolean value, then it is accepted', () => {
    expect(valuesOf(parse('go', '--procs', '--procs=')).procs).toBe(true);
    expect(messageOf(parse('go', '--procs=maybe'))).toContain('invalid boolean value');
  });

  it('given gates in two flags, then both are kept, spaces and empty items are left out', () => {
    expect(valuesOf(parse('go', '--gates=A=true,,B=f', '--gates= C = 1 ,')).gates).toEqual({
      A: true,
      B: false,
      C: true,
    });
  });

  it('given patterns in two flags, then all are kept', () => {
    expect(valuesOf(parse('go', '--vmodule=a=1,,b*=2', '--vmodule=c=3')).vmodule).toEqual(['a=1', 'b*=2', 'c=3']);
  });

  it.each([
    ['gates', 'A', 'malformed pair, expect string=bool'],
    ['gates', 'A=true, B = no=x ', 'invalid value of B: no=x, err: strconv.ParseBool: parsing "no=x": invalid syntax'],
    ...['a', '=1', 'a=', 'a=1=2'].map(
      (item) => ['vmodule', item, `"${item}" does not have the pattern=N format`] as const,
    ),
    ['vmodule', 'a=1,b=x', 'parsing verbosity in "b=x": strconv.ParseUint: parsing "x": invalid syntax'],
    [
      'vmodule',
      'a=2147483648',
      'parsing verbosity in "a=2147483648": strconv.ParseUint: parsing "2147483648": value out of range',
    ],
  ] as const)('given --%s=%s, then it is refused: %s', (name, text, reason) => {
    expect(flags[name].parse(text, flags[name].defaultValue as never)).toEqual({ ok: false, reason });
    expect(messageOf(parse('go', `--${name}=${text}`))).toBe(`invalid value "${text}" for flag -${name}: ${reason}`);
  });
});

describe('the syntax that mixes both', () => {
  it('given a long name with one dash or two, or a shorthand, then the value is the same', () => {
    const args = ['-name=x', '-election', 'word', '-timeout', '5s', '-v4', '--name', '-name'];
    const result = parse('mixed', ...args);
    expect(valuesOf(result)).toMatchObject({ name: '-name', election: true, timeout: 5_000, v: 4 });
    expect(result).toMatchObject({ positionals: ['word'] });
  });

  it.each([
    ['-nosuch=1', "unknown shorthand flag: 'n' in -nosuch=1"],
    ['-toString', "unknown shorthand flag: 't' in -toString"],
    ['---name=x', 'bad flag syntax: ---name=x'],
    ['--nosuch', 'unknown flag: --nosuch'],
    ['-name', 'flag needs an argument: --name'],
    ['-v', "flag needs an argument: 'v' in -v"],
  ])('given %s, then it is refused: %s', (word, message) => {
    expect(messageOf(parse('mixed', word))).toBe(message);
  });
});
