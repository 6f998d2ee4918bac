// SPDX-License-Identifier: Apache-2.0
/** The command was refused before it began. The message gives the reason and the remedy; a stack trace would not help. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
