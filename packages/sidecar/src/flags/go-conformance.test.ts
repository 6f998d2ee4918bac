// SPDX-License-Identifier: Apache-2.0
/** Compares our parsers with Go's on some hundred command lines, and what they show (testing/go-flags). */
import { describe, expect, it } from 'vitest';
import { goResults, type GoVerdict } from '../../testing/index.ts';
import {
  type FlagsOf,
  type StringMap,
  boolFlag,
  durationFlag,
  floatFlag,
  ignoredBoolFlag,
  intFlag,
  labelsFlag,
  stringFlag,
  uintFlag,
  verbosityFlag,
} from './flag.ts';
import { formatGoDuration } from './go-duration.ts';
import { goUsageText } from './go-usage.ts';
import { type ParseResult, parseFlags } from './parse.ts';

interface Values {
  readonly name: string;
  readonly on: boolean;
  readonly off: boolean;
  readonly count: number;
  readonly threads: number;
  readonly qps: number;
  readonly wait: number;
  readonly labels: StringMap;
  readonly v: number;
  readonly auto: boolean;
}

const go = goResults();

const flags: FlagsOf<Values> = {
  name: stringFlag('nobody', 'A name.'),
  on: boolFlag(true, 'On by default.'),
  off: boolFlag(false, 'Off by default.'),
  count: intFlag(-1, 'An int.'),
  threads: uintFlag(10, 'A uint.'),
  qps: floatFlag(5, 'A float.'),
  wait: durationFlag(90_000, 'A duration.'),
  labels: labelsFlag('A list.'),
  v: verbosityFlag('number for the log level verbosity'),
  auto: ignoredBoolFlag('A boolean function.'),
};

type Comparable = Omit<GoVerdict, 'syntax' | 'args'>;

function comparable(parsed: ParseResult<Values>): Comparable {
  if (parsed.kind === 'help') return { help: true };
  if (parsed.kind === 'invalid') return { error: parsed.message };
  const { wait, auto: _, ...values } = parsed.values;
  return {
    values: { ...values, waitNs: Math.round(wait * 1e6) },
    given: [...parsed.given].sort((a, b) => (a < b ? -1 : 1)),
    rest: parsed.positionals,
  };
}

/** Go's integers have 64 bits; as JavaScript numbers the largest ones are rounded. */
function expected({ error, help, values, given = [], rest = [] }: GoVerdict): Comparable {
  if (help) return { help };
  if (error !== undefined) return { error };
  const { count, threads, waitNs, qps } = values as Readonly<Record<string, string>>;
  const special: Readonly<Record<string, number>> = { '+Inf': Infinity, '-Inf': -Infinity, NaN: Number.NaN };
  return {
    values: {
      ...values,
      count: Number(count),
      threads: Number(threads),
      waitNs: Number(waitNs),
      qps: special[qps ?? ''] ?? qps,
    },
    given,
    rest,
  };
}

describe.each(['go', 'pflag'] as const)('syntax %s', (syntax) => {
  const verdicts = go.results.filter((one) => one.syntax === syntax);
  it.each(verdicts.map((one) => [one.args, one] as const))(
    'given the command line %j, then it is read as by Go',
    (args, one) => {
      expect(comparable(parseFlags(flags, syntax, args))).toEqual(expected(one));
    },
  );
});

it("given --help, then the usage text is Go's, without hidden flags", async () => {
  const hidden = { ...stringFlag('x', 'Not shown.'), hidden: true } as const;
  expect(await goUsageText('program', { zone: hidden, ...flags, hidden })).toBe(go.usage);
});

it.each(Object.entries(go.durations))('given %s ns, then it is shown as %s', (nanoseconds, text) => {
  expect(formatGoDuration(Number(nanoseconds) / 1e6)).toBe(text);
});
