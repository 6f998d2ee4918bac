// SPDX-License-Identifier: Apache-2.0
/**
 * Header blocks of HTTP/2 (RFC 7541). Decoding is complete: both tables, all representations, Huffman. Encoding is the
 * simplest that every peer must take: literal, not indexed, not compressed.
 */
import { decodeHuffman } from './huffman.ts';

export type Header = readonly [name: string, value: string];

export interface HeaderDecoder {
  /** Decodes blocks in the order in which they came. Throws for bytes that are no block: then the connection is lost. */
  readonly decode: (block: Uint8Array) => readonly Header[];
}

/** The default of SETTINGS_HEADER_TABLE_SIZE, which we leave as it is. */
const tableLimit = 4096;
/** What an entry counts beyond its text. */
const entryOverhead = 32;
/** A block of single bytes that refer to long entries would become far larger than what came. */
const maxListBytes = 256 * 1024;

const staticTable: readonly Header[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...[
    'accept-language',
    'accept-ranges',
    'accept',
    'access-control-allow-origin',
    'age',
    'allow',
    'authorization',
    'cache-control',
    'content-disposition',
    'content-encoding',
    'content-language',
    'content-length',
    'content-location',
    'content-range',
    'content-type',
    'cookie',
    'date',
    'etag',
    'expect',
    'expires',
    'from',
    'host',
    'if-match',
    'if-modified-since',
    'if-none-match',
    'if-range',
    'if-unmodified-since',
    'last-modified',
    'link',
    'location',
    'max-forwards',
    'proxy-authenticate',
    'proxy-authorization',
    'range',
    'referer',
    'refresh',
    'retry-after',
    'server',
    'set-cookie',
    'strict-transport-security',
    'transfer-encoding',
    'user-agent',
    'vary',
    'via',
    'www-authenticate',
  ].map((name): Header => [name, '']),
];

export function createHeaderDecoder(): HeaderDecoder {
  /** Newest first. */
  const dynamic: Header[] = [];
  let limit = tableLimit;
  let size = 0;

  function evict(): void {
    while (size > limit) size -= sizeOf(dynamic.pop() as Header);
  }
  function added(header: Header): Header {
    dynamic.unshift(header);
    size += sizeOf(header);
    evict();
    return header;
  }
  function at(index: number): Header {
    const header = index <= staticTable.length ? staticTable[index - 1] : dynamic[index - staticTable.length - 1];
    if (header === undefined) throw new Error(`hpack: no entry ${index}`);
    return header;
  }

  return {
    decode: (block) => {
      const reader = createReader(block);
      const headers: Header[] = [];
      let listBytes = 0;
      const take = (header: Header): void => {
        headers.push(header);
        listBytes += sizeOf(header);
        if (listBytes > maxListBytes) throw new Error('hpack: header list too large');
      };
      const literal = (nameIndex: number): Header => [
        nameIndex === 0 ? reader.text() : at(nameIndex)[0],
        reader.text(),
      ];
      while (!reader.atEnd()) {
        const first = reader.peek();
        if ((first & 0x80) !== 0) {
          take(at(reader.integer(7)));
        } else if ((first & 0x40) !== 0) {
          take(added(literal(reader.integer(6))));
        } else if ((first & 0x20) !== 0) {
          limit = reader.integer(5);
          if (limit > tableLimit || headers.length > 0) throw new Error('hpack: table size update out of place');
          evict();
        } else {
          take(literal(reader.integer(4)));
        }
      }
      return headers;
    },
  };
}

function sizeOf([name, value]: Header): number {
  return name.length + value.length + entryOverhead;
}

function createReader(block: Uint8Array) {
  let position = 0;
  const peek = (): number => {
    const byte = block[position];
    if (byte === undefined) throw new Error('hpack: the block ends too early');
    return byte;
  };
  const next = (): number => {
    const byte = peek();
    position += 1;
    return byte;
  };
  const integer = (prefixBits: number): number => {
    const full = 2 ** prefixBits - 1;
    let value = next() & full;
    if (value < full) return value;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = next();
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw new Error('hpack: integer too large');
  };
  return {
    atEnd: (): boolean => position >= block.length,
    peek,
    integer,
    text: (): string => {
      const isCompressed = (peek() & 0x80) !== 0;
      const length = integer(7);
      if (position + length > block.length) throw new Error('hpack: the block ends too early');
      const bytes = block.subarray(position, position + length);
      position += length;
      return isCompressed ? decodeHuffman(bytes) : Buffer.from(bytes).toString('latin1');
    },
  };
}

export function encodeHeaders(headers: readonly Header[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.of(0), ...text(name), ...text(value)]));
}

function text(value: string): readonly Buffer[] {
  const bytes = Buffer.from(value, 'latin1');
  const full = 0x7f;
  if (bytes.length < full) return [Buffer.of(bytes.length), bytes];
  const prefix = [full];
  let rest = bytes.length - full;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) prefix.push((rest & 0x7f) | 0x80);
  prefix.push(rest);
  return [Buffer.from(prefix), bytes];
}
