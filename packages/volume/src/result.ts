// SPDX-License-Identifier: Apache-2.0
/** The result of a rule that can refuse: the refusal is a value with the text that users see, never an exception. */
export type Result<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'error'; readonly message: string };

export const ok = <T>(value: T): Result<T> => ({ kind: 'ok', value });
export const refuse = (message: string): Result<never> => ({ kind: 'error', message });
