// SPDX-License-Identifier: Apache-2.0
/** Log messages. The loop writes no text to an object. */

export function releaseFailed(volumeName: string, cause: Error): Error {
  return new Error(`could not remove the finalizer from PersistentVolume ${volumeName}: ${cause.message}`, { cause }); // F4
}
