// SPDX-License-Identifier: Apache-2.0
/** Texts of the log: the loop writes nothing that users see on an object. */

export function releaseFailed(volumeName: string, cause: Error): Error {
  return new Error(`could not remove the finalizer from PersistentVolume ${volumeName}: ${cause.message}`, { cause }); // F4
}
