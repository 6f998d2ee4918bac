// SPDX-License-Identifier: Apache-2.0
/** Reports bytes of a list or watch that cannot be decoded. It carries their number, never their content. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  readonly bytes: number;
  constructor(message: string, { bytes, cause }: { readonly bytes: number; readonly cause?: unknown }) {
    super(message, cause === undefined ? undefined : { cause });
    this.bytes = bytes;
  }
}
