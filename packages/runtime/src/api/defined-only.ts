// SPDX-License-Identifier: Apache-2.0
/** The same object without fields that are undefined. */
export type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Leaves out what is undefined: absent and undefined are different things to a type, and to readers of the object. */
export function definedOnly<T extends object>(fields: T): Defined<T> {
  const defined: Record<string, unknown> = {};
  // Once for each change of a watch: an array of pairs would be garbage at once.
  for (const name in fields) if (fields[name] !== undefined) defined[name] = fields[name];
  return defined as Defined<T>;
}
