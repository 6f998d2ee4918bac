// SPDX-License-Identifier: Apache-2.0
/** Log messages. The loop writes no error to an object. */

export function notSaved(cause: Error): Error {
  return new Error(`failed to mark as attached: ${cause.message}`, { cause }); // T3
}
