// SPDX-License-Identifier: Apache-2.0
/** Messages and their bytes. All messages of CSI are compared with the protobuf library in packages/csi. */
import { expect, it } from 'vitest';
import { lookUp } from './descriptor.ts';
import { messageCodecs } from './message-codec.ts';
import { methodCodecs } from './method-codecs.ts';

const codecOf = methodCodecs({
  nested: {
    Inner: { fields: { outside: { type: 'string', id: 1 } } },
    test: {
      nested: {
        Kind: { values: { NONE: 0, ONE: 1, LESS: -1 } },
        Inner: { fields: { text: { type: 'string', id: 1 }, more: { type: 'string', id: 2, rule: 'repeated' } } },
        Outer: {
          oneofs: { choice: { oneof: ['left', 'right'] } },
          fields: {
            before: { type: 'string', id: 11, rule: 'repeated' },
            name: { type: 'string', id: 1 },
            flag: { type: 'bool', id: 2 },
            big: { type: 'int64', id: 3 },
            small: { type: 'int32', id: 4 },
            kind: { type: 'Kind', id: 5 },
            inner: { type: 'Inner', id: 6 },
            inners: { type: '.Inner', id: 7, rule: 'repeated' },
            map: { keyType: 'string', type: 'string', id: 8 },
            left: { type: 'Inner', id: 9 },
            right: { type: 'string', id: 10 },
          },
        },
        Echo: { methods: { Say: { requestType: 'Outer', responseType: 'Outer' } } },
      },
    },
  },
});
const codec = codecOf('/test.Echo/Say')!.request;

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const decode = (bytes: string): object => codec.decode(hex(bytes));
const unset = {
  before: [],
  name: '',
  flag: false,
  big: '0',
  small: 0,
  kind: 'NONE',
  inner: null,
  inners: [],
  map: {},
};

it('given no field, or fields that have their defaults, then nothing is written, and the defaults are read', () => {
  expect(codec.encode({})).toEqual(Buffer.alloc(0));
  expect(codec.encode({ left: null, right: undefined })).toEqual(Buffer.alloc(0));
  expect(codec.encode(unset)).toEqual(Buffer.alloc(0));
  expect(decode('')).toEqual(unset);
});

it.each<readonly [object, string]>([
  [{ name: 'aä€' }, '0a 06 61c3a4e282ac'],
  [{ name: '\uFFFD' }, '0a 03 efbfbd'],
  [{ flag: true }, '10 01'],
  [{ big: '1' }, '18 01'],
  [{ big: '127' }, '18 7f'],
  [{ big: '128' }, '18 8001'],
  [{ big: '2147483647' }, '18 ffffffff07'],
  [{ big: '2147483648' }, '18 8080808008'],
  [{ big: '562949953421312' }, '18 8080808080808001'],
  [{ big: '9007199254740991' }, '18 ffffffffffffff0f'],
  [{ big: '72057594037927935' }, '18 ffffffffffffff7f'],
  [{ big: '9223372036854775807' }, '18 ffffffffffffffff7f'],
  [{ big: '-1' }, '18 ffffffffffffffffff01'],
  [{ big: '-9223372036854775808' }, '18 80808080808080808001'],
  [{ small: 2_147_483_647 }, '20 ffffffff07'],
  [{ small: -1 }, '20 ffffffffffffffffff01'],
  [{ kind: 'ONE' }, '28 01'],
  [{ kind: 'LESS' }, '28 ffffffffffffffffff01'],
  [{ kind: 300 }, '28 ac02'],
  [{ inner: { text: '', more: [] } }, '32 00'],
  [{ inner: { text: 'a', more: ['b', ''] } }, '32 08 0a0161 120162 1200'],
  [{ inners: [{ outside: 'a' }, { outside: '' }] }, '3a 03 0a0161 3a 00'],
  [{ map: { a: 'b', '': '' } }, '42 06 0a0161 120162 42 04 0a00 1200'],
  [{ left: { text: '', more: [] }, choice: 'left' }, '4a 00'],
  [{ right: '', choice: 'right' }, '52 00'],
  [{ name: 'abcdefghij', flag: true, small: 300 }, '0a 0a 6162636465666768696a 10 01 20 ac02'],
])('given %j, then it is written and read as its bytes', (message, bytes) => {
  expect(codec.encode(message).toString('hex')).toBe(bytes.replaceAll(' ', ''));
  expect(decode(bytes)).toEqual({ ...unset, ...message });
});

it.each<readonly [string, string, object]>([
  ['a scalar twice', '0a0161 0a0162 1001 1000', { name: 'b' }],
  ['a message twice', '32030a0161 3203120162', { inner: { text: 'a', more: ['b'] } }],
  ['a member of a oneof twice', '4a030a0161 4a03120162', { left: { text: 'a', more: ['b'] }, choice: 'left' }],
  ['one member of a oneof, then the other', '4a030a0161 520162', { right: 'b', choice: 'right' }],
  ['a key twice', '42060a0161120162 42060a0161120163', { map: { a: 'c' } }],
  ['an entry of a map without key', '4203120162', { map: { '': 'b' } }],
  ['an entry of a map without value', '42030a0161', { map: { a: '' } }],
  ['an entry of a map with other fields', '420d 0801 0a0161 1805 120162 2201 7a', { map: { a: 'b' } }],
  ['a varint that is not declared', '980601 0a0161', { name: 'a' }],
  ['eight bytes that are not declared', '9906 0102030405060708 0a0161', { name: 'a' }],
  ['four bytes that are not declared', '9d06 01020304 0a0161', { name: 'a' }],
  ['a text that is not declared', '9a06 020a00 0a0161', { name: 'a' }],
  ['a group that is not declared', '9b06 0a0162 13 0801 14 9c06 0a0161', { name: 'a' }],
  ['a group where a text is declared', '0b0c 0a0161', { name: 'a' }],
  ['a number where a text is declared', '0801 0a0161', { name: 'a' }],
  ['a text where a number is declared', '12020a00 0a0161', { name: 'a' }],
  ['the largest field number', 'f8ffffff0f01 0a0161', { name: 'a' }],
  [
    'a number in more bytes than needed',
    '2080808080808080808001 188100 1080808080808080808001',
    { big: '1', flag: true },
  ],
])('given %s, then it is read, and what is not declared is skipped', (_, bytes, message) => {
  expect(decode(bytes)).toEqual({ ...unset, ...message });
});

it('given the bytes in a part of an array, then only that part is read', () => {
  const array = new Uint8Array([0x10, 0x0a, 0x01, 0x61, 0x10]);
  expect(codec.decode(array.subarray(1, 4))).toEqual({ ...unset, name: 'a' });
});

it('given an entry of a map with the name of the prototype, then it is an entry like any other', () => {
  const entry = `4210 0a09${Buffer.from('__proto__').toString('hex')} 1203787879`;
  const { map } = decode(entry) as { readonly map: object };
  expect(Object.entries(map)).toEqual([['__proto__', 'xxy']]);
  expect(Object.getPrototypeOf(map)).toBe(Object.prototype);
  expect(codec.encode({ map })).toEqual(hex(entry));
});

it.each([
  ['a text beyond the end', '0a0261', 'the message ends too early'],
  ['a message within beyond the end', '32020a', 'the message ends too early'],
  ['a text beyond the end of its message', '3202 0a01 61', 'the message ends too early'],
  ['a number without an end', '1080', 'the message ends too early'],
  ['a field without a value', '10', 'the message ends too early'],
  ['four bytes that end too early', '9d06 010203', 'the message ends too early'],
  ['eight bytes that end too early', '9906 01020304050607', 'the message ends too early'],
  ['a group without an end', '9b06 0801', 'the message ends too early'],
  ['a number of eleven bytes', '18 ffffffffffffffffffff01', 'varint too long'],
  ['a number of more than 64 bits', '18 ffffffffffffffffff02', 'varint too long'],
  ['field number 0', '0000', 'field number 0'],
  ['a field number of 30 bits', '8080808010 00', 'field number 536870912'],
  ['field number 0 in a group', '9b06 0000 9c06', 'field number 0'],
  ['the end of another group', '9b06 a406', 'the end of another group'],
  ['an end without a group', '9c06', 'wire type 4'],
  ['a wire type that does not exist', '9e06', 'wire type 6'],
  ['invalid UTF-8', '0a02c328', 'string field contains invalid UTF-8'],
  ['groups deeper than Go takes', '9b06'.repeat(10_001), 'groups too deep'],
])('given %s, then the message is refused', (_, bytes, reason) => {
  expect(() => decode(bytes)).toThrow(reason);
});

it('given groups as deep as Go takes them, then they are skipped', () => {
  expect(decode('9b06'.repeat(10_000) + '9c06'.repeat(10_000))).toEqual(unset);
});

it('given a name that an enum does not have, then the message is refused', () => {
  expect(() => codec.encode({ kind: 'TWO' })).toThrow('no such value of the enum: TWO');
});

it.each([
  [127, '7f'],
  [128, '8001'],
  [16_383, 'ff7f'],
  [16_384, '808001'],
  [2_097_151, 'ffff7f'],
  [2_097_152, '80808001'],
])('given a text of %i bytes, then it is written with its length before it', (size, length) => {
  const text = `a${'x'.repeat(size - 2)}b`;
  expect(codec.encode({ name: text }).equals(Buffer.concat([hex(`0a${length}`), Buffer.from(text)]))).toBe(true);
});

it.each<readonly [string, object, string]>([
  ['a flag', { flag: true }, '1001'],
  ['a number of eight bytes', { big: '9007199254740991' }, '18ffffffffffffff0f'],
  ['a number of ten bytes', { big: '-1' }, '18ffffffffffffffffff01'],
  ['a message with a text', { inner: { text: '€'.repeat(50) } }, `3299010a9601${'e282ac'.repeat(50)}`],
  [
    'a message with many texts',
    { inner: { text: '', more: Array.from({ length: 100 }, () => '') } },
    `32c801${'1200'.repeat(100)}`,
  ],
  ['a map', { map: { '€': '€' } }, '420a 0a03e282ac 1203e282ac'],
])('given %s wherever the buffer of the writer ends, then nothing of it is lost', (_, message, bytes) => {
  // An empty text takes two bytes, and makes room for no more than these.
  for (const name of ['', 'x']) {
    for (let count = 380; count < 520; count += 1) {
      const written = codec.encode({ before: Array.from({ length: count }, () => ''), name, ...message });
      const named = name === '' ? '' : '0a0178';
      expect(written.toString('hex')).toBe(`${'5a00'.repeat(count)}${named}${bytes.replaceAll(' ', '')}`);
    }
  }
});

it('given types of the same name in several scopes, then a name means the innermost, and one with a dot before it the outermost', () => {
  const [innermost, outermost] = [{ values: { INNER: 0 } }, { values: { OUTER: 0 } }];
  const inner = { nested: { Type: innermost } };
  const outer = { nested: { a: inner } };
  const root = { nested: { a: outer, Type: outermost } };
  const scope = [inner, outer, root];
  expect(lookUp(scope, 'Type')?.[0]).toBe(innermost);
  expect(lookUp(scope, '.Type')?.[0]).toBe(outermost);
  expect(lookUp(scope, 'a.Type')).toEqual([innermost, inner, outer, root]);
  for (const name of ['.a.Type', '.b.Type', 'b.c.Type']) expect(lookUp(scope, name)).toBe(undefined);
  expect(lookUp(scope, '.a.a.Type')?.[0]).toBe(innermost);
});

it('given a method that is used again, then its codec is the same', () => {
  expect(codecOf('/test.Echo/Say')).toBe(codecOf('/test.Echo/Say'));
});

it('given a message without fields, then it is written as nothing', () => {
  expect(messageCodecs()([{}]).encode({})).toEqual(Buffer.alloc(0));
});

it('given a method of a message that is not declared, then the name of the message is reported', () => {
  const methods = { Ask: { requestType: 'Question', responseType: 'None' } };
  const codecFor = methodCodecs({ nested: { Service: { methods }, Question: { fields: {} } } });
  expect(() => codecFor('/Service/Ask')).toThrow('no such message: None');
});

it.each([
  '/test.Echo/None',
  '/test.None/Say',
  '/none/None',
  '/none.None/None',
  '',
  '/test.Echo/constructor',
  '/constructor/name',
])('given the undeclared method "%s", then there is no codec', (name) => {
  expect(codecOf(name)).toBe(undefined);
});

it.each([
  [{ type: 'bytes', id: 1 }, 'fields of type bytes are not supported'],
  [{ type: 'int32', id: 1, rule: 'repeated' }, 'lists of int32 are not supported'],
  [{ type: 'string', id: 1, keyType: 'int32' }, 'maps of int32 to string are not supported'],
  [{ type: 'int32', id: 1, keyType: 'string' }, 'maps of string to int32 are not supported'],
  [{ type: 'string' }, 'field one has no number'],
])('given a field %o, then its message is refused when its codec is made', (field, reason) => {
  expect(() => messageCodecs()([{ fields: { one: field } }])).toThrow(reason);
});
