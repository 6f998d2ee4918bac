// SPDX-License-Identifier: Apache-2.0
/** Texts of the log: the loop writes no errors that users see on an object. */

export function notSaved(cause: Error): Error {
  return new Error(`failed to mark as attached: ${cause.message}`, { cause }); // T3
}
