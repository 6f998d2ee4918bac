// SPDX-License-Identifier: Apache-2.0
/** Fowler-Noll-Vo hashes of 32 bit, over bytes: those of a text are its UTF-8. Upstream uses both variants. */
const offset = 2166136261;
const prime = 16777619;

/** Multiply, then xor. */
export function fnv1(text: string): number {
  let hash = offset;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash, prime) ^ byte;
  return hash >>> 0;
}

/** Xor, then multiply. */
export function fnv1a(hashed: string | Uint8Array): number {
  let hash = offset;
  for (const byte of typeof hashed === 'string' ? Buffer.from(hashed) : hashed) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}
