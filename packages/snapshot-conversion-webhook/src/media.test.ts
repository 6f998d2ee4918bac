// SPDX-License-Identifier: Apache-2.0
import { acceptedFormat, hasTooManyValues, maxBodyBytes } from '@csi-sidecars/runtime/internal';
import { expect, it } from 'vitest';
import { formats, yaml } from './media.ts';

const { decode, encode } = yaml;

it.each([
  { type: 'application/json', bytes: 4_194_304 },
  { type: 'application/yaml', bytes: 65_536 },
  { type: 'text/plain', bytes: 4_194_304 },
  { type: undefined, bytes: 4_194_304 },
])(
  '[snapshot-conversion-webhook#13] given a body of the type $type, then $bytes bytes are the most that is read',
  ({ type, bytes }) => {
    expect(maxBodyBytes(formats, type)).toBe(bytes);
  },
);

it.each(['{', '[', ','])(
  '[snapshot-conversion-webhook#13] given 200000 of %s, then the values are not too many; with one more they are',
  (beginning) => {
    expect(hasTooManyValues(Buffer.from(beginning.repeat(200_000)), 200_000)).toBe(false);
    expect(hasTooManyValues(Buffer.from(beginning.repeat(200_001)), 200_000)).toBe(true);
    expect(hasTooManyValues(Buffer.from(':'.repeat(200_001)), 200_000)).toBe(false);
  },
);

it.each([
  { accept: undefined, format: 'application/json' },
  { accept: '', format: 'application/json' },
  { accept: 'application/yaml', format: 'application/yaml' },
  { accept: ' APPLICATION/YAML ; Q=0.9 , application/json;q=0.8', format: 'application/yaml' },
  { accept: 'application/yaml;v=1;q=0.1, application/json;q=0.2', format: 'application/json' },
  { accept: 'application/json;q=0.5, application/yaml', format: 'application/yaml' },
  { accept: 'application/json;q=0.5, application/yaml;q=odd', format: 'application/yaml' },
  { accept: 'application/yaml, application/json', format: 'application/yaml' },
  { accept: 'text/html', format: undefined },
  { accept: ';q=1', format: undefined },
])('given a client that accepts $accept, then it gets $format', ({ accept, format }) => {
  expect(String(acceptedFormat(formats, accept)?.contentType)).toBe(String(format));
});

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
