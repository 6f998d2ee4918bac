// SPDX-License-Identifier: Apache-2.0
/** JSON as Go writes it: characters with a meaning in HTML are escaped, keys are sorted. */

export function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function objectOf(members: readonly (readonly [name: string, json: string])[]): string {
  const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, json]) => `${quote(name)}:${json}`).join(',')}}`;
}

/** Formats a value that is not a message. Never throws: the text for a value that cannot be encoded states this. */
export function plain(value: unknown): string {
  try {
    return encode(value);
  } catch (error) {
    return `<<json.Marshal ${typeof value}: ${String(error)}>>`;
  }
}

function encode(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return `[${value.map(encode).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    return objectOf(Object.entries(value).map(([name, member]) => [name, encode(member)]));
  }
  return JSON.stringify(value) ?? 'null';
}
