// SPDX-License-Identifier: Apache-2.0
/** Error messages in the status of VolumeAttachments. They are upstream's texts, which users search for and test suites match. */

export const volumeDeleting = (name: string): string => `PersistentVolume "${name}" is marked for deletion`; // A5

export function noVolumeFinalizer(cause: Error): Error {
  return new Error(`could not add PersistentVolume finalizer: ${cause.message}`, { cause }); // A6
}

export function noSecret(ref: { readonly namespace: string; readonly name: string }, cause: Error): Error {
  return new Error(`failed to load secret "${ref.namespace}/${ref.name}": ${cause.message}`, { cause }); // A9, D6
}

export function notMarked(cause: Error): Error {
  return new Error(`could not save VolumeAttachment: ${cause.message}`, { cause }); // A11
}

export function notSaved(cause: Error): Error {
  return new Error(`failed to mark as attached: ${cause.message}`, { cause }); // A14
}

export const notDetached = (cause: Error): string => `could not mark as detached: ${cause.message}`; // D9, D10

/** The API server refuses a status whose message is longer. */
const maxMessageBytes = 1024;

/** Shortens a message to the longest text that the API server accepts, without cutting a character in two. */
export function toStatusMessage(message: string): string {
  const { read } = new TextEncoder().encodeInto(message, new Uint8Array(maxMessageBytes));
  return message.slice(0, read);
}
