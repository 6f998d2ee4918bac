// SPDX-License-Identifier: Apache-2.0
/** Bytes of a list or watch that are not what they should be. Carries how many there were, never their content. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  readonly bytes: number;
  constructor(message: string, { bytes, cause }: { readonly bytes: number; readonly cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause });
    this.bytes = bytes;
  }
}
