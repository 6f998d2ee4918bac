// SPDX-License-Identifier: Apache-2.0
type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Leaves out what is undefined: absent and undefined are different things to a type, and to readers of the object. */
export function definedOnly<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
