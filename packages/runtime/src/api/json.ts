// SPDX-License-Identifier: Apache-2.0
/**
 * JSON as the API server speaks it, both ways, without losing an integer.
 *
 * Guarantees: `parseJson(stringifyJson(x))` keeps every integer. One that does not fit a JavaScript number (a snapshot's
 * creation time in nanoseconds) is a `bigint` after parsing; all other numbers are numbers. Strings copy their text, so
 * nothing of the input buffer stays alive.
 * Cost: looking for such an integer reads every sixteenth byte; only input that seems to hold one takes the slower path.
 * Errors: SyntaxError, without a part of the input when that may hold a secret (V8 quotes its surroundings).
 */

/** 2^53 has sixteen digits: an integer with fewer is always exact. */
const digitsAtRisk = 16;
const [zero, nine, quote, minus] = [0x30, 0x39, 0x22, 0x2d];

export function parseJson(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return parseJsonText(text, hasLongInteger(bytes) ? 'exact' : 'fast');
}

/** For text whose bytes were inspected with `hasLongInteger`, or changed since: `exact` is right for any. */
export function parseJsonText(text: string, numbers: 'exact' | 'fast'): unknown {
  try {
    return numbers === 'fast' ? JSON.parse(text) : parseExact(text, exactInteger);
  } catch {
    // The engine's message quotes the text around the fault.
    throw new SyntaxError(`invalid JSON (${text.length} characters)`);
  }
}

/** As `JSON.stringify`, with bigints written as integers. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    // A bigint, as a rule; whatever else it was (a cycle) fails again in the same way.
    return JSON.stringify(value, (_key, field: unknown) =>
      typeof field === 'bigint' ? rawJson(field.toString()) : field,
    );
  }
}

/** A copy of what `parseJson` returned, for a fraction of what `structuredClone` costs, which takes any value. */
export function copyJson<T>(value: T): T {
  return copyAny(value) as T;
}

function copyAny(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyAny);
  // Spread first: every name is the copy's own then, even `__proto__`, and the assignment below cannot mean anything else.
  const copy: Record<string, unknown> = { ...value };
  for (const name in copy) {
    const field = copy[name];
    if (typeof field === 'object') copy[name] = copyAny(field);
  }
  return copy;
}

/**
 * True if the text may hold a number of sixteen digits or more. Digits inside a string may make it true; it is never false by
 * mistake.
 */
export function hasLongInteger(bytes: Uint8Array): boolean {
  // Any run of sixteen digits covers one of these positions.
  for (let at = digitsAtRisk - 1; at < bytes.length; at += digitsAtRisk) {
    if (!isDigit(bytes[at])) continue;
    let first = at;
    while (first > 0 && isDigit(bytes[first - 1])) first -= 1;
    let last = at;
    while (isDigit(bytes[last + 1])) last += 1;
    if (last - first + 1 < digitsAtRisk) continue;
    const before = bytes[first - 1] === minus ? bytes[first - 2] : bytes[first - 1];
    if (before !== quote) return true;
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}

function exactInteger(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return context.source !== undefined && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}

/** ECMAScript's "JSON.parse source text access", which TypeScript's library does not know yet. */
type ExactReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseExact = JSON.parse as (text: string, reviver: ExactReviver) => unknown;
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
