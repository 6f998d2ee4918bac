// SPDX-License-Identifier: Apache-2.0
/** Texts that users see in the status of VolumeAttachments, and that suites match on. */

export const volumeDeleting = (name: string): string => `PersistentVolume "${name}" is marked for deletion`; // A5
export const notGuarded = (cause: string): string => `could not add PersistentVolume finalizer: ${cause}`; // A6
export const noSecret = (ref: { readonly namespace: string; readonly name: string }, cause: string): string =>
  `failed to load secret "${ref.namespace}/${ref.name}": ${cause}`; // A9, D6
export const notMarked = (cause: string): string => `could not save VolumeAttachment: ${cause}`; // A11
export const notSaved = (cause: string): string => `failed to mark as attached: ${cause}`; // A14, T3
export const notDetached = (cause: string): string => `could not mark as detached: ${cause}`; // D9, D10

/** What the API server takes; a longer one makes it refuse the whole status. */
const maxMessageBytes = 1024;

/** Cut between characters. */
export function toStatusMessage(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= maxMessageBytes) return message;
  let end = maxMessageBytes;
  // A byte of the form 10xxxxxx goes on with a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
