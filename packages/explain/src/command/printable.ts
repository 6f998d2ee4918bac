// SPDX-License-Identifier: Apache-2.0
/** Texts of others are data: they are cut and made printable before they reach a screen, a document or a shell. */
import { isDnsSubdomain } from '@csi-sidecars/volume';

/** Control, format and separator characters become `?`, so that no text of others moves the cursor or begins a line. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu, '?');
}

/** On a screen ASCII only; what is cut ends in dots. */
export function forScreen(text: string, most = 300): string {
  const plain = printable(text).replaceAll(/[^ -~]/gu, '?');
  return plain.length <= most ? plain : `${plain.slice(0, most - 3)}...`;
}

export interface Cut {
  readonly text: string;
  readonly isCut: boolean;
}

const mostBytes = 4_096;

/** At most 4,096 bytes of UTF-8, at a boundary of characters. */
export function forDocument(text: string): Cut {
  // A text of a megabyte is not worth looking at beyond what can be kept of it.
  const clean = printable(text.slice(0, mostBytes));
  const bytes = Buffer.from(clean);
  if (text.length <= mostBytes && bytes.byteLength <= mostBytes) return { text: clean, isCut: false };
  // With `stream` the decoder leaves out a character that is cut.
  return { text: new TextDecoder().decode(bytes.subarray(0, mostBytes), { stream: true }), isCut: true };
}

/**
 * A command of kubectl about an object, or undefined if a name in it is none that an object can have: such a name is never put into a command.
 */
export function kubectl(
  verb: readonly string[],
  names: readonly (string | undefined)[],
  rest: readonly string[] = [],
): readonly string[] | undefined {
  const all = names.filter((name) => name !== undefined);
  return all.every((name) => isDnsSubdomain(name)) ? ['kubectl', ...verb, ...all, ...rest] : undefined;
}

/** Words for a POSIX shell. */
export function shellLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}
