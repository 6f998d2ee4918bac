// SPDX-License-Identifier: Apache-2.0
/** Texts that end in the log: the loop writes nothing that users see on an object. */

export const releaseFailed = (volumeName: string, cause: string): string =>
  `could not remove the finalizer from PersistentVolume ${volumeName}: ${cause}`; // F4
