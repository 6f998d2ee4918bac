// SPDX-License-Identifier: Apache-2.0
/** Examples of RFC 7541, and what peers do not send that keep to the rules; header blocks of nghttp2 are read in ../interop.test.ts. */
import { expect, it } from 'vitest';
import { createHeaderDecoder, encodeHeaders } from './hpack.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
/** A header that joins the table. */
const indexed = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.of(0x40), encodeHeaders([[name, value]]).subarray(1)]);

it('given every index of the static table, then it is the header of RFC 7541, appendix A', () => {
  const named =
    'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control content-disposition ' +
    'content-encoding content-language content-length content-location content-range content-type cookie date etag expect expires from ' +
    'host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified link location max-forwards ' +
    'proxy-authenticate proxy-authorization range referer refresh retry-after server set-cookie strict-transport-security ' +
    'transfer-encoding user-agent vary via www-authenticate';
  const headers = createHeaderDecoder().decode(Buffer.from(Array.from({ length: 61 }, (_, at) => 0x81 + at)));
  expect(headers.map((header) => header.join(' '))).toEqual([
    ':authority ',
    ':method GET',
    ':method POST',
    ':path /',
    ':path /index.html',
    ':scheme http',
    ':scheme https',
    ...[200, 204, 206, 304, 400, 404, 500].map((status) => `:status ${status}`),
    'accept-charset ',
    'accept-encoding gzip, deflate',
    ...named.split(' ').map((name) => `${name} `),
  ]);
});

it.each([
  ['with indexing', '400a637573746f6d2d6b65790d637573746f6d2d686561646572', ['custom-key', 'custom-header']],
  ['without indexing', '040c2f73616d706c652f70617468', [':path', '/sample/path']],
  ['without indexing, of an odd name', '01012f', [':authority', '/']],
  ['without indexing, of the last name of the static table', '0f2e0161', ['www-authenticate', 'a']],
  ['never indexed', '100870617373776f726406736563726574', ['password', 'secret']],
  ['of an index only', '82', [':method', 'GET']],
  ['with a number in four bytes more than needed', '0f808080000161', ['accept-charset', 'a']],
] as const)('given a header %s, then it is read', (_, block, header) => {
  expect(createHeaderDecoder().decode(hex(block))).toEqual([header]);
});

it('given the responses of RFC 7541, C.6, compressed, in a table of 256 bytes, then they are read, and entries that do not fit are gone', () => {
  const decoder = createHeaderDecoder();
  const [location, control] = [
    ['location', 'https://www.example.com'],
    ['cache-control', 'private'],
  ];
  const date = (second: number) => ['date', `Mon, 21 Oct 2013 20:13:${second} GMT`];
  const cookie = ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'];
  const encoding = ['content-encoding', 'gzip'];
  const blocks = [
    '3fe101488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
    '4883640effc1c0bf',
    '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
  ];
  expect(blocks.map((block) => decoder.decode(hex(block)))).toEqual([
    [[':status', '302'], control, date(21), location],
    [[':status', '307'], control, date(21), location],
    [[':status', '200'], control, date(22), location, encoding, cookie],
  ]);
  expect(decoder.decode(hex('bebfc0'))).toEqual([cookie, encoding, date(22)]);
  expect(() => decoder.decode(hex('c1'))).toThrow('no entry 65');
});

it('given every byte, compressed, then the text is all of them', () => {
  // Written by Go's golang.org/x/net/http2/hpack.
  const compressed = Buffer.from(
    '/8f//Y///+L///4////k///+X///5v///n///+j//+r////z///6f///q////9///+v///7P///t///+7///7////w////H///8v////v///z////T///9f///2////f//' +
      '/+P///5////r///+1P4/n/r/yr8f6/r+/n/f0suwAImWm3HXn7n3//IP+/8/9Q3b1/BhxY8mXNn0adWvZt3b+HHl+c/3/3//w/+f/kX/9HGSQss05unWimo9faxCbe/jz6' +
      '9//7/n/7/9////z//m//9L//n//6P//T//9T//1f//s//+t//9r//7f//3P//u///e///r//+////Z///b//6///4P//7v//w///i///H//+T//uf/+x//+X//2f//zf//' +
      'n///v//9r//u//9P//t//+5//+j//9P//e///V//7v//vf//4f/9///3///1///s//8H//h//+D//xf//t//+H//93//7//+r//4v//j//+T//+H//y///N///H///g///' +
      '4f/+v//j//8///8v//o///2f//8X///H///yf//97///v///8v//+P//+3//l//4///+b///wf//+H///n///8X//+X//k//8v///R///0////7///4////J///5f/+z//' +
      '/P//t//83//0//+f//0f//z//+r//6///93//+////T///X///q///p///1///+b///s///7f///P///6P///T///6v///X////3///s///9v///u///9////w///7vw==',
    'base64',
  );
  const length = Buffer.from([0xff, 0xc8, 0x03]);
  const [[, value] = []] = createHeaderDecoder().decode(Buffer.concat([Buffer.of(1), length, compressed]));
  expect(Buffer.from(value ?? '', 'latin1')).toEqual(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
});

it.each([
  [0, '00'],
  [126, '7e'],
  [127, '7f00'],
  [254, '7f7f'],
  [255, '7f8001'],
  [16_510, '7fff7f'],
  [16_511, '7f808001'],
])('given a text of %i bytes, then it is written with its length before it', (length, prefix) => {
  expect(encodeHeaders([['', 'x'.repeat(length)]])).toEqual(
    Buffer.concat([hex(`0000${prefix}`), Buffer.alloc(length, 'x')]),
  );
});

it('given a text with a letter beyond ASCII, then it is written in Latin-1', () => {
  expect(encodeHeaders([['x', 'ä']])).toEqual(hex('00017801e4'));
});

it.each([
  ['index 0', '80', 'no entry 0'],
  ['an index beyond both tables', 'be', 'no entry 62'],
  ['a name of an entry that is not there', '7f0000', 'no entry 63'],
  ['a larger table than allowed', '3fe21f', 'table size update out of place'],
  ['a table update after a header', '8220', 'table size update out of place'],
  ['a number without an end', 'ff', 'ends too early'],
  ['a number that is too large', 'ffffffffff7f', 'integer too large'],
  ['a number in five bytes more than needed', '0f80808080000161', 'integer too large'],
  ['a name without an end', '000561', 'ends too early'],
  ['a value without an end', '0001610562', 'ends too early'],
  ['a name without a value', '000161', 'ends too early'],
  ['a compressed text with the end-of-string symbol', '0084ffffffff00', 'end of string'],
  ['a compressed text with eight bits of padding', '0081ff00', 'bad padding'],
  ['a compressed text with a zero in its padding', '00811e00', 'bad padding'],
])('given %s, then the block is refused', (_, block, reason) => {
  expect(() => createHeaderDecoder().decode(hex(block))).toThrow(reason);
});

it('given one byte a header that refers to a long entry, then the list is refused before it is large', () => {
  const decoder = createHeaderDecoder();
  // With what an entry counts beyond its text, it fills the table, and 64 of them the list.
  expect(decoder.decode(indexed('x', 'y'.repeat(4_063)))).toHaveLength(1);
  expect(decoder.decode(Buffer.alloc(64, 0xbe))).toHaveLength(64);
  expect(() => decoder.decode(Buffer.concat([Buffer.alloc(64, 0xbe), hex('82')]))).toThrow('header list too large');
});

it('given a header that is larger than the table, then it is read, and the table is empty', () => {
  const decoder = createHeaderDecoder();
  decoder.decode(indexed('a', 'b'));
  expect(decoder.decode(indexed('x', 'y'.repeat(4_064)))).toHaveLength(1);
  expect(() => decoder.decode(hex('be'))).toThrow('no entry 62');
});

it('given a table that was made smaller and larger again, then its entries are gone', () => {
  const decoder = createHeaderDecoder();
  decoder.decode(indexed('a', 'b'));
  expect(decoder.decode(hex('be'))).toEqual([['a', 'b']]);
  expect(() => decoder.decode(hex('203fe11fbe'))).toThrow('no entry 62');
});
