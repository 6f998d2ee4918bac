// SPDX-License-Identifier: Apache-2.0
/** JSON values as the fake API server handles them: compared by value, never edited in place. */
import { stringifyJson } from '../../src/api/json.ts';

export type JsonObject = { readonly [field: string]: unknown };
export type MutableJson = { [field: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A private copy without undefined fields. The typed decoding of built-in kinds drops null fields as well. */
export function copyJson<T>(value: T, nulls: 'drop nulls' | 'keep nulls' = 'drop nulls'): T {
  if (Array.isArray(value)) return value.map((item: unknown) => copyJson(item, nulls)) as T;
  if (!isObject(value)) return value;
  const copy: MutableJson = {};
  for (const [field, content] of Object.entries(value)) {
    if (content === undefined || (content === null && nulls === 'drop nulls')) continue;
    copy[field] = copyJson(content, nulls);
  }
  return copy as T;
}

/** Equality by value; a field that is undefined equals an absent one. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  for (const field of Object.keys(left)) if (!sameJson(left[field], right[field])) return false;
  for (const field of Object.keys(right)) if (right[field] !== undefined && left[field] === undefined) return false;
  return true;
}

/** The value under a path of field names, or undefined. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found: unknown = value;
  for (const field of path) found = isObject(found) ? found[field] : undefined;
  return found;
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

/** A copy of `object` with `path` set to `value`; an undefined value removes the field. */
export function withField<T extends JsonObject>(object: T, path: readonly string[], value: unknown): T {
  const [field, ...rest] = path;
  if (field === undefined) return object;
  const { [field]: current, ...others } = object;
  const next = rest.length === 0 ? value : withField(isObject(current) ? current : {}, rest, value);
  return (next === undefined ? others : { ...object, [field]: next }) as T;
}

/** UTF-8 JSON, integers beyond 2^53 included. */
export function encodeJson(value: unknown): Uint8Array {
  try {
    return Buffer.from(JSON.stringify(value));
  } catch {
    // Only a bigint makes the fast way fail.
    return Buffer.from(stringifyJson(value));
  }
}
