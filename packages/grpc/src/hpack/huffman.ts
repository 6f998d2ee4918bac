// SPDX-License-Identifier: Apache-2.0
/**
 * The Huffman code of HPACK (RFC 7541, appendix B), decoding only: what we send is not compressed. The code is canonical,
 * so the lengths of its words are all of it: words of one length count upwards in the order of their symbols.
 */

/** Bits of the word of each byte. The end-of-string symbol comes last, with 30, and may not occur in full. */
const lengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];
const shortest = 5;
const longest = 30;
const endOfString = 256;

/** Code word -> symbol. A leading one bit is added to each word, so that words of different lengths stay different numbers. */
const symbols: ReadonlyMap<number, number> = symbolsByWord();

function symbolsByWord(): ReadonlyMap<number, number> {
  const byWord = new Map<number, number>();
  for (let length = shortest, word = 0; length <= longest; length += 1) {
    word *= 2;
    for (const [symbol, each] of lengths.entries()) if (each === length) byWord.set(2 ** length + word++, symbol);
  }
  return byWord;
}

/** Throws for what is no code. */
export function decodeHuffman(bytes: Uint8Array): string {
  const decoded: number[] = [];
  let word = 1;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      word = word * 2 + ((byte >> bit) & 1);
      // There is one after 30 bits at the latest: the code has no gap.
      const symbol = symbols.get(word);
      if (symbol === undefined) continue;
      if (symbol === endOfString) throw new Error('huffman: end of string inside of a string');
      decoded.push(symbol);
      word = 1;
    }
  }
  // What is left is filled with the beginning of the end-of-string symbol: fewer than eight ones.
  if (!/^1{1,8}$/.test(word.toString(2))) throw new Error('huffman: bad padding');
  return Buffer.from(decoded).toString('latin1');
}
