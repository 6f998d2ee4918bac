// SPDX-License-Identifier: Apache-2.0
/** The result of parsing a text: a value, or an error with Go's message. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const valid = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const invalid = (reason: string): Parsed<never> => ({ ok: false, reason });
