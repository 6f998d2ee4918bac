// SPDX-License-Identifier: Apache-2.0
/** What became of a text: a value, or the reason why not, in Go's words. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const valid = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const invalid = (reason: string): Parsed<never> => ({ ok: false, reason });
