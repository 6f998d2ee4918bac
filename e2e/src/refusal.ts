// SPDX-License-Identifier: Apache-2.0
/** Nothing was begun. The message is for people: why, and what they can do; where it was thrown helps nobody. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
