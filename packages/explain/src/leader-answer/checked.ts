// SPDX-License-Identifier: Apache-2.0
/** The fields of a document of another program, one by one. Each function throws for a value that is none of its kind. */

export type Fields = Readonly<Record<string, unknown>>;

export function orNull<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === null ? null : read(value);
}

export function record(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('no object');
  return value as Fields;
}

const mostItems = 100;

export function list(value: unknown, most: number = mostItems): readonly unknown[] {
  if (!Array.isArray(value) || value.length > most) throw new TypeError('no list');
  return value;
}

export function boolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new TypeError('no boolean');
  return value;
}

export function count(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new TypeError('no number');
  return value as number;
}

export function seconds(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw new TypeError('no duration');
  return value;
}

export function time(value: unknown): number {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (!Number.isFinite(ms)) throw new TypeError('no time');
  return ms;
}

const mostCharacters = 1_024;

export function string(value: unknown): string {
  if (typeof value !== 'string' || value.length > mostCharacters) throw new TypeError('no text');
  return value;
}

/** A name of a program, of a function, of a code, a version. */
export function word(value: unknown): string {
  if (typeof value !== 'string' || !/^[\w.+-]{0,64}$/.test(value)) throw new TypeError('no word');
  return value;
}

export function rowId(value: unknown): string {
  if (typeof value !== 'string' || !/^[A-Z]{1,3}\d{1,4}[a-z]?$/.test(value)) throw new TypeError('no row');
  return value;
}
