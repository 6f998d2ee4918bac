// SPDX-License-Identifier: Apache-2.0
/** What peers do not send that keep to the rules; header blocks of other implementations are read in ../interop.test.ts. */
import { expect, it } from 'vitest';
import { createHeaderDecoder, encodeHeaders } from './hpack.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

it.each([
  ['index 0', '80', 'no entry 0'],
  ['an index beyond both tables', 'be', 'no entry 62'],
  ['a name of an entry that is not there', '7f0000', 'no entry 63'],
  ['a larger table than allowed', '3fe21f', 'table size update out of place'],
  ['a table update after a header', '8220', 'table size update out of place'],
  ['a number without an end', 'ff', 'ends too early'],
  ['a number that is too large', 'ffffffffff7f', 'integer too large'],
  ['a text without an end', '000561', 'ends too early'],
  ['a compressed text with the end-of-string symbol', '0084ffffffff00', 'end of string'],
  ['a compressed text with eight bits of padding', '0081ff00', 'bad padding'],
])('given %s, then the block is refused', (_, block, reason) => {
  expect(() => createHeaderDecoder().decode(hex(block))).toThrow(reason);
});

it('given one byte a header that refers to a long entry, then the list is refused before it is large', () => {
  const decoder = createHeaderDecoder();
  const entry = Buffer.concat([Buffer.of(0x40), encodeHeaders([['x', 'y'.repeat(4_000)]]).subarray(1)]);
  expect(decoder.decode(entry)).toHaveLength(1);
  expect(decoder.decode(Buffer.alloc(60, 0xbe))).toHaveLength(60);
  expect(() => decoder.decode(Buffer.alloc(60_000, 0xbe))).toThrow('header list too large');
});

it('given a table that was made smaller and larger again, then its entries are gone', () => {
  const decoder = createHeaderDecoder();
  decoder.decode(Buffer.concat([Buffer.of(0x40), encodeHeaders([['a', 'b']]).subarray(1)]));
  expect(decoder.decode(hex('be'))).toEqual([['a', 'b']]);
  expect(() => decoder.decode(hex('203fe11fbe'))).toThrow('no entry 62');
});
