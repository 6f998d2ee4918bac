// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { boolFlag, durationFlag, intFlag, rare, stringFlag, verbosityFlag } from './flag.ts';
import { helpText, mistakeLines } from './help.ts';
import { parseFlags, type FlagSyntax } from './parse.ts';

const long = `Ends ${'x'.repeat(99)}. More.`;
const flags = {
  v: { ...verbosityFlag('Verbosity.'), group: 'Log, metrics, version' },
  address: { ...stringFlag('/run', 'Address. Required.'), group: 'Driver' },
  timeout: durationFlag(90_000, 'Timeout of one call.'),
  each: { ...durationFlag(1_000, 'Its default depends.'), defaultText: '' },
  text: stringFlag('', long),
  brief: { ...boolFlag(false, long), brief: 'In short.' },
  count: intFlag(0, 'First.\nSecond.'),
  seldom: rare(boolFlag(true, 'Not shown.')),
  old: { ...boolFlag(true, 'Not shown.'), deprecated: 'use --timeout' },
  hidden: { ...boolFlag(true, 'Not shown.'), hidden: true },
} as const;

it('[common#78] given --help, then each flag is one line with its default, by purpose, without what is seldom needed', () => {
  expect(helpText('/csi-sample', flags)).toBe(`Usage of /csi-sample, each flag with its default:
  --brief=false      In short.
  --count=0          First.
  --each=<duration>  Its default depends.
  --text=""          Ends ${'x'.repeat(99)}.
  --timeout=1m30s    Timeout of one call.

Driver:
  --address="/run"   Address. Required.

Log, metrics, version:
  -v=0               Verbosity.

All flags: /csi-sample --help=all
`);
});

describe('a mistake', () => {
  function linesFor(syntax: FlagSyntax, ...args: readonly string[]): readonly string[] {
    const mistake = parseFlags<Record<string, unknown>>(flags, syntax, args);
    if (mistake.kind !== 'invalid') throw new Error('no mistake');
    return mistakeLines('/csi-sample', flags, mistake);
  }

  it('[common#79] given a value that cannot be read or is missing, then the help of the flag stands between the two messages', () => {
    const hint = ['  --timeout=1m30s  Timeout of one call.', 'Flags: /csi-sample --help'];
    const unread = 'invalid value "5" for flag -timeout: parse error';
    expect(linesFor('go', '-timeout', '5')).toEqual([unread, ...hint, unread]);
    const missing = 'flag needs an argument: --timeout';
    expect(linesFor('pflag', '--timeout')).toEqual([missing, ...hint, missing]);
  });

  it('given a hidden flag or a word that is no flag, then there is no help of one', () => {
    const hidden = 'invalid boolean value "x" for -hidden: parse error';
    expect(linesFor('go', '--hidden=x')).toEqual([hidden, 'Flags: /csi-sample --help', hidden]);
    const malformed = 'bad flag syntax: ---timeout';
    expect(linesFor('go', '---timeout')).toEqual([malformed, 'Flags: /csi-sample --help', malformed]);
  });

  it.each([
    { syntax: 'go', word: '-timout=1s', message: 'flag provided but not defined: -timout', meant: 'timeout' },
    { syntax: 'pflag', word: '--timeuot', message: 'unknown flag: --timeuot', meant: 'timeout' },
    { syntax: 'mixed', word: '--seldon', message: 'unknown flag: --seldon', meant: 'seldom' },
    { syntax: 'pflag', word: '-timeout=1s', message: "unknown shorthand flag: 't' in -timeout=1s", meant: 'timeout' },
  ] as const)(
    '[common#80] given the syntax $syntax and $word, then the flag that was meant is in the last line',
    ({ syntax, word, message, meant }) => {
      const question = `Did you mean --${meant}?`;
      const last = `${message}. ${question}`;
      expect(linesFor(syntax, word)).toEqual([message, question, 'Flags: /csi-sample --help', last]);
    },
  );

  it.each(['--hiden', '--oldd', '--unlike'])(
    'given %s, then no hidden, deprecated or distant flag is suggested',
    (word) => {
      const message = `unknown flag: ${word}`;
      expect(linesFor('pflag', word)).toEqual([message, 'Flags: /csi-sample --help', message]);
    },
  );
});
