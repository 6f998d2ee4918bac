// SPDX-License-Identifier: Apache-2.0
/** Converts what was thrown to an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
