// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { yaml } from './media.ts';
import { groupContents } from './review.ts';

const { decode, encode } = yaml;

it.each([
  { type: 'application/json', bytes: 4_194_304 },
  { type: 'application/yaml', bytes: 65_536 },
  { type: 'text/plain', bytes: 4_194_304 },
  { type: undefined, bytes: 4_194_304 },
])(
  '[snapshot-conversion-webhook#13] given a body of the type $type, then $bytes bytes are the most that is read',
  ({ type, bytes }) => {
    expect(groupContents.maxBodyBytes(type)).toBe(bytes);
  },
);

it('[snapshot-conversion-webhook#9] given integers of YAML, then each is a number if it is exact as such, else a bigint, and all else is text', () => {
  const lines = ['7', '-7', '+7', '9007199254740993', '+9007199254740993', '-9007199254740993', '7a', 'a7', '0x1F'];
  expect(decode(Buffer.from(lines.map((line) => `- ${line}\n`).join('')))).toEqual([
    7,
    -7,
    7,
    9007199254740993n,
    9007199254740993n,
    -9007199254740993n,
    '7a',
    'a7',
    '0x1F',
  ]);
});

it('[snapshot-conversion-webhook#11] given one alias in YAML, then it is refused; equal values without an alias are read', () => {
  expect(() => decode(Buffer.from('a: &a {}\nb: *a\n'))).toThrow('aliases are not accepted');
  expect(decode(Buffer.from('- {}\n- {}\n- ~\n- ~\n- x\n- x\n'))).toEqual([{}, {}, null, null, 'x', 'x']);
});

it('given one object twice and a long text, then YAML has each in full, without an alias and without a fold', () => {
  const part = { size: 2n ** 60n };
  const long = 'word '.repeat(40).trim();
  expect(encode({ a: part, b: part, long })).toBe(
    `a:\n  size: 1152921504606846976\nb:\n  size: 1152921504606846976\nlong: ${long}\n`,
  );
});

it('given integers with an exponent or a sign before zero, then YAML has them as JSON does', () => {
  expect(encode([1e21, -0])).toBe('- 1e+21\n- 0\n');
});
