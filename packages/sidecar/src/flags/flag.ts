// SPDX-License-Identifier: Apache-2.0
/**
 * Flags as data: a program's flags are a record of `Flag`s, from which parsing, usage text and the reference page are
 * derived. Value syntax is Go's (strconv, time.ParseDuration), whichever of the two parsers reads the command line.
 */
import { goQuote } from '@csi-sidecars/runtime/internal';
import { formatGoDuration, parseGoDuration } from './go-duration.ts';
import { parseFloat64, parseInt64, parseUint64, type Parsed, invalid, valid } from './numbers.ts';

export interface Flag<T> {
  /** The name of the value in the usage text. */
  readonly type: string;
  readonly defaultValue: T;
  /** The default as Go prints it; empty when the usage text shows none. */
  readonly defaultText: string;
  readonly usage: string;
  /** The value of the flag without one (`--leader-election`); undefined when a value is mandatory. */
  readonly impliedText?: string;
  /** `previous` is the value so far: maps and lists, which are empty by default, accumulate; others ignore it. */
  parse(text: string, previous: T): Parsed<T>;
  /** A letter that stands for the name: the name itself, as the usage text has it. */
  readonly shorthand?: string;
  readonly deprecated?: string;
  /** Neither the usage text nor the reference shows it. */
  readonly hidden?: true;
  /** Seldom needed, or without effect: `--help` leaves it out, `--help=all` shows it. */
  readonly isRare?: true;
  /** The text for `--help`, where the first sentence of `usage` is too long for its line. */
  readonly brief?: string;
  /** Default: what the program does. */
  readonly group?: FlagGroup;
}

/** The headings of `--help`, in their order. */
export const flagGroups = ['Driver', 'API server', 'Leader election', 'Log, metrics, version'] as const;
export type FlagGroup = (typeof flagGroups)[number];

/** The flags of a command line whose values are V. */
export type FlagsOf<V> = { readonly [K in keyof V]: Flag<V[K]> };
/** Any flags, where the values do not matter. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

export const rare = <T>(flag: Flag<T>): Flag<T> => ({ ...flag, isRare: true });

export function inGroup<V extends object>(group: FlagGroup, flags: FlagsOf<V>): FlagsOf<V> {
  const entries = Object.entries<Flag<unknown>>(flags).map(([name, flag]) => [name, { ...flag, group }]);
  return Object.fromEntries(entries) as FlagsOf<V>;
}

const parseError = invalid('parse error');

const trueWords: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseWords: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/** Go's strconv.ParseBool. */
function parseGoBool(text: string): boolean | undefined {
  if (trueWords.has(text)) return true;
  return falseWords.has(text) ? false : undefined;
}

function badBool(text: string): string {
  return `strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`;
}

export function boolFlag(defaultValue: boolean, usage: string): Flag<boolean> {
  return {
    type: '',
    defaultValue,
    defaultText: defaultValue ? 'true' : '',
    usage,
    impliedText: 'true',
    parse: (text) => {
      const value = parseGoBool(text);
      return value === undefined ? parseError : valid(value);
    },
  };
}

/** Accepted and validated for compatibility; without meaning outside Go. An empty value counts as true. */
export function ignoredBoolFlag(usage: string): Flag<boolean> {
  return {
    ...rare(boolFlag(false, usage)),
    parse: (text) => {
      const value = text === '' ? true : parseGoBool(text);
      return value === undefined ? invalid(badBool(text)) : valid(value);
    },
  };
}

export function stringFlag(defaultValue: string, usage: string): Flag<string> {
  return {
    type: 'string',
    defaultValue,
    defaultText: defaultValue === '' ? '' : goQuote(defaultValue),
    usage,
    parse: (text) => valid(text),
  };
}

function numberFlag(facts: Pick<Flag<number>, 'type' | 'defaultValue' | 'usage' | 'parse'>): Flag<number> {
  const defaultText = facts.defaultValue === 0 ? '' : String(facts.defaultValue);
  return { ...facts, defaultText };
}

export function intFlag(defaultValue: number, usage: string): Flag<number> {
  return numberFlag({ type: 'int', defaultValue, usage, parse: parseInt64 });
}

export function uintFlag(defaultValue: number, usage: string): Flag<number> {
  return numberFlag({ type: 'uint', defaultValue, usage, parse: parseUint64 });
}

export function floatFlag(defaultValue: number, usage: string): Flag<number> {
  return numberFlag({ type: 'float', defaultValue, usage, parse: parseFloat64 });
}

/** klog's verbosity: 0 .. 2^31-1, decimal digits only. */
export function verbosityFlag(usage: string): Flag<number> {
  return { ...numberFlag({ type: 'Level', defaultValue: 0, usage, parse: parseVerbosity }), shorthand: 'v' };
}

function parseVerbosity(text: string): Parsed<number> {
  const refused = (why: string): Parsed<never> => invalid(`strconv.ParseUint: parsing ${goQuote(text)}: ${why}`);
  if (!/^\d+$/.test(text)) return refused('invalid syntax');
  return Number(text) < 2 ** 31 ? valid(Number(text)) : refused('value out of range');
}

/** Milliseconds. */
export function durationFlag(defaultMs: number, usage: string): Flag<number> {
  return {
    type: 'duration',
    defaultValue: defaultMs,
    defaultText: defaultMs === 0 ? '' : formatGoDuration(defaultMs),
    usage,
    parse: (text) => {
      const value = parseGoDuration(text);
      return value === undefined ? parseError : valid(value);
    },
  };
}

export type StringMap = Readonly<Record<string, string>>;

/** `key:value,key2:value2`; repeated flags accumulate. */
export function labelsFlag(usage: string): Flag<StringMap> {
  return {
    type: 'stringMap',
    defaultValue: {},
    defaultText: '',
    usage,
    parse: (text, previous) => {
      const labels: Record<string, string> = { ...previous };
      for (const item of text.split(',')) {
        const parts = item.split(':');
        if (parts.length !== 2) return invalid(`malformed item in list of labels: ${item}`);
        labels[parts[0]!] = parts[1]!;
      }
      return valid(labels);
    },
  };
}

export type GateSettings = Readonly<Record<string, boolean>>;

/** `Name=true,Other=false`; repeated flags accumulate. Whether a gate exists is checked later, by the program. */
export function featureGatesFlag(usage: string): Flag<GateSettings> {
  return {
    type: 'mapStringBool',
    defaultValue: {},
    defaultText: '',
    usage,
    parse: (text, previous) => {
      const gates: Record<string, boolean> = { ...previous };
      for (const pair of text.split(',')) {
        if (pair === '') continue;
        const [name, setting] = pair.split(/=(.*)/s).map((part) => part.trim());
        if (setting === undefined) return invalid('malformed pair, expect string=bool');
        const value = parseGoBool(setting);
        if (value === undefined) return invalid(`invalid value of ${name}: ${setting}, err: ${badBool(setting)}`);
        gates[name!] = value;
      }
      return valid(gates);
    },
  };
}

/** `pattern=N,...`: accepted and validated; patterns name Go source files, so nothing matches here. */
export function vmoduleFlag(usage: string): Flag<readonly string[]> {
  return {
    type: 'pattern=N,...',
    defaultValue: [],
    defaultText: '',
    usage,
    parse: (text, previous) => {
      const items = text.split(',').filter((item) => item !== '');
      for (const item of items) {
        const [pattern, level, ...more] = item.split('=');
        if (!pattern || !level || more.length > 0) {
          return invalid(`${goQuote(item)} does not have the pattern=N format`);
        }
        const verbosity = parseVerbosity(level);
        if (!verbosity.ok) return invalid(`parsing verbosity in ${goQuote(item)}: ${verbosity.reason}`);
      }
      return valid([...previous, ...items]);
    },
  };
}
