// SPDX-License-Identifier: Apache-2.0
/**
 * When the peer gets back what it has used of our windows, which have 65,535 bytes, the default. What comes is taken at once, so
 * the windows never fill up; the content of a stream is limited by the length of a message instead.
 */

/** A peer that sends one byte a frame would otherwise get an answer for each of them. */
const dueBytes = 16_384;

export function isDue(usedBytes: number): boolean {
  return usedBytes >= dueBytes;
}
