// SPDX-License-Identifier: Apache-2.0
/**
 * Random numbers by key: the same seed and key give the same number, whatever was drawn before. A decision that is drawn this way stays
 * what it was when another part of a story is left out, which is what makes a story shrink.
 */

/** Uniform in [0, 1). */
export type Draw = (key: string | number, count: number) => number;

export function drawFrom(seed: number): Draw {
  return (key, count) => mix(mix(seed, typeof key === 'number' ? key : hashText(key)), count) / 2 ** 32;
}

/** FNV-1a, 32 bits. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** The finalizer of MurmurHash3 over both numbers. */
function mix(left: number, right: number): number {
  let hash = Math.imul(left ^ Math.imul(right + 0x9e3779b9, 0x85ebca6b), 0xc2b2ae35) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
