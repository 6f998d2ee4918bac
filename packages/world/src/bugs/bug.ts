// SPDX-License-Identifier: Apache-2.0
export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface Bug {
  readonly name: string;
  /** Where it comes from: a commit that mended it, an issue of upstream, or that it was made up. */
  readonly history: string;
  readonly effect: string;
  readonly edits: readonly Edit[];
}
