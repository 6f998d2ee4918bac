// SPDX-License-Identifier: Apache-2.0
/** Numbers as Go's strconv reads them. Texts that JavaScript would read too (" 5", "0b", "") are refused as Go does. */

/** The result of parsing a text: a value, or an error with Go's message. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const valid = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const invalid = (reason: string): Parsed<never> => ({ ok: false, reason });

const syntax = invalid('parse error');
const range = invalid('value out of range');

const patterns: readonly (readonly [prefix: RegExp, digits: RegExp, ours: string])[] = [
  [/^0[xX]/, /^(?:_?[0-9a-fA-F])+$/, '0x'],
  [/^0[bB]/, /^(?:_?[01])+$/, '0b'],
  [/^0[oO]/, /^(?:_?[0-7])+$/, '0o'],
  [/^0(?=.)/, /^(?:_?[0-7])+$/, '0o'],
  [/^/, /^[0-9](?:_?[0-9])*$/, ''],
];

/** With a base prefix (0x, 0b, 0o, 0) or decimal, underscores between digits. */
function parseNatural(text: string): bigint | undefined {
  for (const [prefix, digits, ours] of patterns) {
    const found = prefix.exec(text);
    if (!found) continue;
    const rest = text.slice(found[0].length);
    if (!digits.test(rest)) return undefined;
    return BigInt(ours + rest.replaceAll('_', ''));
  }
  return undefined;
}

export function parseInt64(text: string): Parsed<number> {
  const negative = text.startsWith('-');
  const natural = parseNatural(text.replace(/^[+-]/, ''));
  if (natural === undefined) return syntax;
  const exact = negative ? -natural : natural;
  return BigInt.asIntN(64, exact) === exact ? valid(Number(exact)) : range;
}

export function parseUint64(text: string): Parsed<number> {
  const natural = parseNatural(text);
  if (natural === undefined) return syntax;
  return BigInt.asUintN(64, natural) === natural ? valid(Number(natural)) : range;
}

const decimal = /^[+-]?(?:\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?$/;
const hexadecimal = /^([+-]?)0[xX]((?:_?[0-9a-fA-F])*)\.?((?:_?[0-9a-fA-F])*)[pP]([+-]?\d(?:_?\d)*)$/;
const infinite = /^([+-]?)inf(?:inity)?$/i;

export function parseFloat64(text: string): Parsed<number> {
  const infinity = infinite.exec(text);
  if (infinity) return valid(infinity[1] === '-' ? -Infinity : Infinity);
  if (/^nan$/i.test(text)) return valid(Number.NaN);
  const number = decimal.test(text) ? Number(text.replaceAll('_', '')) : parseHexadecimal(text);
  if (number === undefined) return syntax;
  return Number.isFinite(number) ? valid(number) : range;
}

function parseHexadecimal(text: string): number | undefined {
  const [, sign, whole = '', fraction = '', exponent] = hexadecimal.exec(text) ?? [];
  const digits = (whole + fraction).replaceAll('_', '');
  if (digits === '') return undefined;
  const fractionDigits = fraction.replaceAll('_', '').length;
  const scale = Number(exponent!.replaceAll('_', '')) - 4 * fractionDigits;
  return (sign === '-' ? -1 : 1) * Number(`0x${digits}`) * 2 ** scale;
}
