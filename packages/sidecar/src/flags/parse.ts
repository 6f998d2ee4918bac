// SPDX-License-Identifier: Apache-2.0
/**
 * The two command-line syntaxes of the Go sidecars, exactly. `go` is Go's `flag` package: one or two dashes are equal, the
 * first word that is no flag ends parsing. `pflag` (csi-provisioner) wants two dashes for long names, has the shorthand
 * `-v`, and lets flags and other words mix. `mixed` (csi-sidecars) is pflag, and a long name may have one dash. What they accept is turned into values; nothing is printed and nothing exits here.
 */
import { goQuote } from '@csi-sidecars/runtime/internal';
import type { Flag, Flags, FlagsOf } from './flag.ts';

export type FlagSyntax = 'go' | 'pflag' | 'mixed';
/** How a word is cut. */
type WordSyntax = 'go' | 'pflag';

export type ParseResult<V> =
  | {
      readonly kind: 'parsed';
      readonly values: V;
      /** Flags that were present on the command line, whatever their value. */
      readonly given: ReadonlySet<string>;
      readonly positionals: readonly string[];
    }
  | Help
  | Mistake;

interface Help {
  readonly kind: 'help';
  /** `--help=all`. For Go any value means the same as none. */
  readonly isForAll: boolean;
}
export interface Mistake {
  readonly kind: 'invalid';
  readonly message: string;
  /** The flag whose value is the mistake. */
  readonly flag?: string;
  /** The name that no flag has. */
  readonly unknown?: string;
}

/** One flag as found on the command line. `text` is undefined when it came without a value. */
type Token =
  | { readonly kind: 'flag'; readonly name: string; readonly shown: string; readonly text: string | undefined }
  | { readonly kind: 'shorthand'; readonly letter: string; readonly rest: string; readonly word: string }
  | { readonly kind: 'word'; readonly word: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'malformed'; readonly message: string };

export function parseFlags<V extends object>(
  declared: FlagsOf<V>,
  syntax: FlagSyntax,
  args: readonly string[],
): ParseResult<V> {
  const flags: Flags = declared;
  const cut: WordSyntax = syntax === 'go' ? 'go' : 'pflag';
  const written = (word: string): string => (syntax === 'mixed' ? withTwoDashes(flags, word) : word);
  const byShorthand = new Map(Object.entries(flags).map(([name, { shorthand }]) => [shorthand, name]));
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) values[name] = flag.defaultValue;
  const given = new Set<string>();
  const positionals: string[] = [];

  for (let index = 0; index < args.length; index++) {
    const token = tokenise(written(args[index]!), cut);
    if (token.kind === 'end') {
      positionals.push(...args.slice(index + 1));
      break;
    }
    if (token.kind === 'word') {
      if (cut === 'go') {
        positionals.push(...args.slice(index));
        break;
      }
      positionals.push(token.word);
      continue;
    }
    if (token.kind === 'malformed') return { kind: 'invalid', message: token.message };
    const found = resolve(token, byShorthand);
    if (found.kind !== 'flag') return found;
    const flag = Object.hasOwn(flags, found.name) ? flags[found.name] : undefined;
    if (flag === undefined) return unknownFlag(found, cut);
    let text = found.text ?? flag.impliedText;
    if (text === undefined) {
      index += 1;
      text = args[index];
      if (text === undefined)
        return { kind: 'invalid', message: `flag needs an argument: ${found.shown}`, flag: found.name };
    }
    const { name } = found;
    given.add(name);
    const parsed = flag.parse(text, values[name]);
    if (!parsed.ok)
      return { kind: 'invalid', message: invalidValue({ flag, name, text }, cut, parsed.reason), flag: name };
    values[name] = parsed.value;
  }
  return { kind: 'parsed', values: values as V, given, positionals };
}

/** A single dash is doubled where a long name stands behind it. Everything else is a shorthand, or an error. */
function withTwoDashes(flags: Flags, word: string): string {
  const found = /^-([^-=][^=]+)/.exec(word);
  return found && Object.hasOwn(flags, found[1]!) ? `-${word}` : word;
}

function tokenise(word: string, syntax: WordSyntax): Token {
  if (word.length < 2 || !word.startsWith('-')) return { kind: 'word', word };
  if (word === '--') return { kind: 'end' };
  const long = word.startsWith('--');
  if (syntax === 'pflag' && !long) return { kind: 'shorthand', letter: word.charAt(1), rest: word.slice(2), word };
  const body = word.slice(long ? 2 : 1);
  if (body.startsWith('-') || body.startsWith('=')) return { kind: 'malformed', message: `bad flag syntax: ${word}` };
  const [name = body, text] = body.split(/=(.*)/s);
  return { kind: 'flag', name, shown: syntax === 'pflag' ? `--${name}` : `-${name}`, text };
}

type Found = Extract<Token, { kind: 'flag' }>;

function resolve(
  token: Extract<Token, { kind: 'flag' | 'shorthand' }>,
  byShorthand: ReadonlyMap<string | undefined, string>,
): Found | Mistake | Help {
  if (token.kind !== 'shorthand') return token;
  const name = byShorthand.get(token.letter);
  if (name === undefined) {
    if (token.letter === 'h') return { kind: 'help', isForAll: false };
    // Go looks at bytes, not at characters.
    const [byte] = Buffer.from(token.letter);
    const message = `unknown shorthand flag: '${String.fromCodePoint(byte!)}' in ${token.word}`;
    // As a rule a long name with one dash.
    return { kind: 'invalid', message, unknown: token.word.slice(1).split('=')[0]! };
  }
  // `-v=` is the value "=", as pflag has it.
  const text = token.rest === '' ? undefined : token.rest.replace(/^=(?=.)/s, '');
  return { kind: 'flag', name, shown: `'${token.letter}' in ${token.word}`, text };
}

function unknownFlag({ name, text }: Found, syntax: WordSyntax): Help | Mistake {
  if (name === 'help' || (name === 'h' && syntax === 'go')) return { kind: 'help', isForAll: text === 'all' };
  const message = syntax === 'go' ? `flag provided but not defined: -${name}` : `unknown flag: --${name}`;
  return { kind: 'invalid', message, unknown: name };
}

function invalidValue(
  { flag, name, text }: { flag: Flag<unknown>; name: string; text: string },
  syntax: WordSyntax,
  reason: string,
): string {
  const value = goQuote(text);
  if (syntax === 'pflag') {
    const shown = flag.shorthand === undefined ? `--${name}` : `-${flag.shorthand}, --${name}`;
    return `invalid argument ${value} for "${shown}" flag: ${reason}`;
  }
  if (flag.impliedText !== undefined) return `invalid boolean value ${value} for -${name}: ${reason}`;
  return `invalid value ${value} for flag -${name}: ${reason}`;
}
