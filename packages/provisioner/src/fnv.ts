// SPDX-License-Identifier: Apache-2.0
/** Fowler-Noll-Vo hashes of 32 bit, over the bytes of the text in UTF-8. Upstream uses both variants. */
const offset = 2166136261;
const prime = 16777619;

/** Multiply, then xor. */
export function fnv1(text: string): number {
  let hash = offset;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash, prime) ^ byte;
  return hash >>> 0;
}

/** Xor, then multiply. */
export function fnv1a(text: string): number {
  let hash = offset;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}
