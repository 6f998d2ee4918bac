// SPDX-License-Identifier: Apache-2.0
/**
 * JSON in which integers beyond 2^53-1 survive: they are read as bigint and written back digit by digit. Everything else
 * takes JSON.parse and JSON.stringify as they are: a reviver costs five times the parse, so the bytes are first searched
 * for a long number, which costs about one percent of it.
 */

/** The shortest integer that may not fit a double has this many digits (2^53-1 has as many). */
const longDigits = 16;

export function parseJson(bytes: Uint8Array): unknown {
  const text = textOf(bytes);
  return mayHoldLargeInteger(bytes) ? JSON.parse(text, keepLargeIntegers as Reviver) : JSON.parse(text);
}

export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The only ordinary cause is a bigint; whatever else it was fails again, with the same error.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'bigint' ? exact.rawJSON(inner.toString()) : inner,
    );
  }
}

/** UTF-8 bytes as text, without copying them first. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

type Reviver = (key: string, value: unknown) => unknown;
/** In Node.js 24, but not yet in TypeScript's library. */
const exact = JSON as unknown as { rawJSON(text: string): unknown };

function keepLargeIntegers(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context.source === undefined) return value;
  return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}

/** Looks at every sixteenth byte: a run of sixteen digits cannot hide between two of them. */
function mayHoldLargeInteger(bytes: Uint8Array): boolean {
  for (let at = longDigits - 1; at < bytes.length; at += longDigits) {
    if (!isDigit(bytes[at])) continue;
    let first = at;
    while (isDigit(bytes[first - 1])) first -= 1;
    let last = at;
    while (isDigit(bytes[last + 1])) last += 1;
    if (last - first + 1 >= longDigits && mayPrecedeNumber(bytes[first - 1])) return true;
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** White space, `:`, `,`, `[`, `-` or nothing. Most long runs of digits are inside strings, behind something else. */
function mayPrecedeNumber(byte: number | undefined): boolean {
  if (byte === undefined || byte <= 0x20) return true;
  return byte === 0x3a || byte === 0x2c || byte === 0x5b || byte === 0x2d;
}
