// SPDX-License-Identifier: Apache-2.0
/**
 * What a program says about its command line when it is asked by `--help`, and when there is a mistake on it. Written without a
 * library, because the memory of the programs that run on every node counts.
 */
import { type Flag, type Flags, flagGroups } from './flag.ts';
import { nearest } from './nearest.ts';
import type { Mistake } from './parse.ts';

const widest = 120;

/** One line a flag. `--help=all` shows all of them, see usage.ts and go-usage.ts. */
export function helpText(program: string, flags: Flags): string {
  const shown = Object.entries(flags)
    .filter(([, flag]) => isOffered(flag) && flag.isRare !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const width = Math.max(0, ...shown.map(([name, flag]) => withDefault(name, flag).length));
  const lines = [undefined, ...flagGroups].flatMap((group) => {
    const members = shown.filter(([, flag]) => flag.group === group);
    const heading = group === undefined || members.length === 0 ? [] : ['', `${group}:`];
    return [...heading, ...members.map(([name, flag]) => lineOf(name, flag, width))];
  });
  return [
    `Usage of ${program}, each flag with its default:`,
    ...lines,
    '',
    `All flags: ${program} --help=all`,
    '',
  ].join('\n');
}

function isOffered({ hidden, deprecated }: Flag<unknown>): boolean {
  return hidden !== true && deprecated === undefined;
}

function lineOf(name: string, flag: Flag<unknown>, width = 0): string {
  const start = `  ${withDefault(name, flag).padEnd(width)}  `;
  const line = `${start}${flag.usage}`;
  if (flag.brief === undefined && line.length <= widest && !line.includes('\n')) return line;
  return start + (flag.brief ?? flag.usage.split(/(?<=\.)\s/)[0]!);
}

function withDefault(name: string, flag: Flag<unknown>): string {
  const dashes = flag.shorthand === name ? '-' : '--';
  return `${dashes}${name}=${flag.defaultText || zeroOf(flag)}`;
}

/** A default that Go's usage text leaves out. In place of one that depends stands the type. */
function zeroOf({ defaultValue, type }: Flag<unknown>): string {
  if (defaultValue === false || defaultValue === 0) return String(defaultValue);
  return typeof defaultValue === 'number' ? `<${type}>` : '""';
}

/**
 * The message stands first, as with Go, and last, because kubelet shows the last lines of a dead container. In between stands what helps
 * with this mistake, and not the list of all flags, which would bury it.
 */
export function mistakeLines(
  program: string,
  flags: Flags,
  /** `hint`: what is known of the unknown flag. */
  mistake: Mistake & { readonly hint?: string | undefined },
): readonly string[] {
  const { message, flag: name, unknown, hint } = mistake;
  const flag = name === undefined ? undefined : flags[name];
  const offered = Object.keys(flags).filter((each) => isOffered(flags[each]!));
  const meant = unknown === undefined || hint !== undefined ? undefined : nearest(unknown, offered);
  const question = hint === undefined ? [] : [hint];
  if (meant !== undefined) question.push(`Did you mean --${meant}?`);
  const help = flag === undefined || flag.hidden === true ? [] : [lineOf(name!, flag)];
  return [message, ...help, ...question, `Flags: ${program} --help`, [message, ...question].join('. ')];
}
