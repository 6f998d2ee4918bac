// SPDX-License-Identifier: Apache-2.0
/**
 * Flags as data: a program's flags are a record of `Flag`s, from which parsing, usage text and the reference page are
 * derived. Value syntax is Go's (strconv, time.ParseDuration), whichever of the two parsers reads the command line.
 */
import { formatGoDuration, parseGoDuration } from './go-duration.ts';

export interface Flag<T> {
  /** What the usage text calls the value. */
  readonly type: string;
  readonly defaultValue: T;
  /** The default as Go prints it; empty when the usage text shows none. */
  readonly defaultText: string;
  readonly usage: string;
  /** The value of the flag without one (`--leader-election`); undefined when a value is mandatory. */
  readonly impliedText: string | undefined;
  /** `previous` is set when the flag occurred before: map flags accumulate, others ignore it. */
  parse(text: string, previous: T | undefined): Parsed<T>;
  readonly shorthand?: string;
  readonly deprecated?: string;
}

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

/** The flags of a command line whose values are V. */
export type FlagsOf<V> = { readonly [K in keyof V]: Flag<V[K]> };
/** Any flags, where the values do not matter. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

const ok = <T>(value: T): Parsed<T> => ({ ok: true, value });
const parseError: Parsed<never> = { ok: false, reason: 'parse error' };
const outOfRange: Parsed<never> = { ok: false, reason: 'value out of range' };

const trueWords: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseWords: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/** Go's strconv.ParseBool. */
export function parseGoBool(text: string): boolean | undefined {
  if (trueWords.has(text)) return true;
  return falseWords.has(text) ? false : undefined;
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
      return value === undefined ? parseError : ok(value);
    },
  };
}

/** Accepted and validated for compatibility; without meaning outside Go. An empty value counts as true. */
export function ignoredBoolFlag(usage: string): Flag<boolean> {
  const flag = boolFlag(false, usage);
  return { ...flag, parse: (text, previous) => (text === '' ? ok(true) : flag.parse(text, previous)) };
}

export function stringFlag(defaultValue: string, usage: string): Flag<string> {
  return {
    type: 'string',
    defaultValue,
    defaultText: defaultValue === '' ? '' : JSON.stringify(defaultValue),
    usage,
    impliedText: undefined,
    parse: ok,
  };
}

/** Go's integer syntax with base prefixes and underscores between digits (`0x10`, `0b1`, `0o17`, `017`, `1_000`). */
function parseGoInteger(text: string): bigint | undefined {
  const match = /^([-+]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?\d)*)$/.exec(text);
  if (match === null) return undefined;
  const digits = (match[2] ?? '').replaceAll('_', '').toLowerCase();
  const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return match[1] === '-' ? -value : value;
}

interface Range {
  readonly type: 'int' | 'uint';
  readonly min: bigint;
  readonly max: bigint;
}

const intRange: Range = { type: 'int', min: BigInt(Number.MIN_SAFE_INTEGER), max: BigInt(Number.MAX_SAFE_INTEGER) };
const uintRange: Range = { type: 'uint', min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) };

function integerFlag(range: Range, defaultValue: number, usage: string): Flag<number> {
  return {
    type: range.type,
    defaultValue,
    defaultText: defaultValue === 0 ? '' : String(defaultValue),
    usage,
    impliedText: undefined,
    parse: (text) => {
      const value = parseGoInteger(text);
      if (value === undefined || (range.type === 'uint' && /^[-+]/.test(text))) return parseError;
      return value < range.min || value > range.max ? outOfRange : ok(Number(value));
    },
  };
}

export function intFlag(defaultValue: number, usage: string): Flag<number> {
  return integerFlag(intRange, defaultValue, usage);
}

export function uintFlag(defaultValue: number, usage: string): Flag<number> {
  return integerFlag(uintRange, defaultValue, usage);
}

/** klog's verbosity: 0 .. 2^31-1. */
export function verbosityFlag(usage: string): Flag<number> {
  const flag = integerFlag({ type: 'uint', min: 0n, max: 2n ** 31n - 1n }, 0, usage);
  return { ...flag, type: 'Level', shorthand: 'v' };
}

export function floatFlag(defaultValue: number, usage: string): Flag<number> {
  return {
    type: 'float',
    defaultValue,
    defaultText: defaultValue === 0 ? '' : String(defaultValue),
    usage,
    impliedText: undefined,
    parse: (text) => (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text) ? ok(Number(text)) : parseError),
  };
}

/** Milliseconds. */
export function durationFlag(defaultMs: number, usage: string): Flag<number> {
  return {
    type: 'duration',
    defaultValue: defaultMs,
    defaultText: defaultMs === 0 ? '' : formatGoDuration(defaultMs),
    usage,
    impliedText: undefined,
    parse: (text) => {
      const value = parseGoDuration(text);
      return value === undefined ? { ok: false, reason: `time: invalid duration ${JSON.stringify(text)}` } : ok(value);
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
    impliedText: undefined,
    parse: (text, previous) => {
      const labels: Record<string, string> = { ...previous };
      for (const item of text.split(',')) {
        const parts = item.split(':');
        if (parts.length !== 2) return { ok: false, reason: `malformed item in list of labels: ${item}` };
        labels[parts[0] ?? ''] = parts[1] ?? '';
      }
      return ok(labels);
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
    impliedText: undefined,
    parse: (text, previous) => {
      const gates: Record<string, boolean> = { ...previous };
      for (const pair of text.split(',')) {
        if (pair.trim() === '') continue;
        const [name, setting] = pair.split(/=(.*)/s, 2);
        if (setting === undefined) return { ok: false, reason: `malformed pair, expect string=bool` };
        const value = parseGoBool(setting.trim());
        if (value === undefined) return { ok: false, reason: `invalid value of ${name}: ${setting}` };
        gates[(name ?? '').trim()] = value;
      }
      return ok(gates);
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
    impliedText: undefined,
    parse: (text, previous) => {
      const items = text.split(',').filter((item) => item !== '');
      const malformed = items.find((item) => !/^[^=]+=\d+$/.test(item));
      if (malformed !== undefined)
        return { ok: false, reason: 'syntax error: expect comma-separated list of filename=N' };
      return ok([...(previous ?? []), ...items]);
    },
  };
}
