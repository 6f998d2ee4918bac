// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyJson, hasLongInteger, parseJson, parseJsonText, stringifyJson } from './json.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('parseJson', () => {
  it('given an integer beyond 2^53, then it is kept as a bigint and written back digit for digit', () => {
    const wire = '{"creationTime":1700000000123456789,"restoreSize":1024,"least":-9223372036854775808}';
    const parsed = parseJson(bytes(wire));
    expect(parsed).toEqual({ creationTime: 1700000000123456789n, restoreSize: 1024, least: -9223372036854775808n });
    expect(stringifyJson(parsed)).toBe(wire);
  });

  it('given an integer of sixteen digits that fits, then it stays a number', () => {
    expect(parseJson(bytes('[9007199254740991,9007199254740993]'))).toEqual([9007199254740991, 9007199254740993n]);
  });

  it('given fractions and exponents of any length, then they stay numbers', () => {
    const text = '[0.12345678901234567890,12345678901234567e3]';
    expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
  });

  it('given long digits in strings only, then the fast path is taken', () => {
    const text = '{"resourceVersion":"123456789012345678901","uid":"00000000-0000-0000-0000-000000000001"}';
    expect(hasLongInteger(bytes(text))).toBe(false);
    expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
  });

  it.each([
    ['fifteen digits', '123456789012345', false],
    ['sixteen digits at the beginning', '1234567890123456', true],
    ['sixteen digits at the end', 'x'.repeat(16) + '1234567890123456', true],
    ['sixteen digits behind another sign', ' 1234567890123456', true],
    ['sixteen digits behind a minus', '[-1234567890123456]', true],
    ['sixteen digits of a string', '"1234567890123456"', false],
    ['sixteen digits of a string, behind a minus', '"-1234567890123456"', false],
    ['fifteen digits in the middle', `${'x'.repeat(8)}123456789012345x`, false],
    ['the bytes beside the digits, which are none', '//////////////////::::::::::::::::::', false],
    ['a string with digits, then a number', '"1234567890123456",1234567890123456', true],
    ['nothing', '', false],
  ])('given %s, then it may hold a long integer or does not', (_, text, isLong) => {
    expect(hasLongInteger(bytes(text))).toBe(isLong);
  });

  it('given a fraction, a string and a literal beside a long integer, then only the integer is a bigint', () => {
    const text = '[1.5e300,"9007199254740993",true,null,9007199254740993,{"a":-9007199254740993}]';
    expect(parseJson(bytes(text))).toEqual([
      1.5e300,
      '9007199254740993',
      true,
      null,
      9007199254740993n,
      { a: -9007199254740993n },
    ]);
  });

  it('given text for the fast path, then integers are what the engine makes of them', () => {
    expect(parseJsonText('9007199254740993', 'fast')).toBe(9007199254740992);
  });

  it('given a view into a larger buffer, then only the view is read', () => {
    const large = bytes('xx{"a":1}yy');
    expect(parseJson(large.subarray(2, 9))).toEqual({ a: 1 });
  });

  it('given text that is no JSON, then the error does not quote it', () => {
    expect(() => parseJson(bytes('{"token":"s3cret"'))).toThrow(new SyntaxError('invalid JSON (17 characters)'));
    expect(() => parseJsonText('s3cret', 'exact')).toThrow(new SyntaxError('invalid JSON (6 characters)'));
  });

  it('given any 64 bit integer at any position, then it survives a round trip', () => {
    const documents = fc.record({ pad: fc.string(), n: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), after: fc.string() });
    fc.assert(
      fc.property(documents, ({ pad, n, after }) => {
        const parsed = parseJson(bytes(stringifyJson({ pad, n, after }))) as { n: number | bigint };
        expect(BigInt(parsed.n)).toBe(n);
      }),
      { seed: 1 },
    );
  });
});

describe('copyJson', () => {
  it('given any JSON, then the copy is equal and shares no part that could be changed', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = copyJson(value);
        expect(copy).toEqual(value);
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
      }),
      { seed: 1 },
    );
    const original = { metadata: { finalizers: ['a'], size: 2n ** 60n } };
    const copy = copyJson(original);
    copy.metadata.finalizers.push('b');
    expect(original.metadata.finalizers).toEqual(['a']);
  });

  it('given a field called __proto__, then it is copied as a field', () => {
    const copy = copyJson(parseJson(bytes('{"__proto__":{"a":1}}')));
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(stringifyJson(copy)).toBe('{"__proto__":{"a":1}}');
  });
});
