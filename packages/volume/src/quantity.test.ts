// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareQuantities, formatBytes, formatQuantity, parseQuantity, toBytes } from './quantity.ts';

const bytesOf = (text: string): bigint | undefined => {
  const quantity = parseQuantity(text);
  return quantity === undefined ? undefined : toBytes(quantity);
};
const canonical = (text: string): string => {
  const quantity = parseQuantity(text);
  return quantity === undefined ? 'invalid' : formatQuantity(quantity);
};

describe('parsing', () => {
  it.each([
    ['0', 0n],
    ['1500m', 2n],
    ['1n', 1n],
    ['2000000000n', 2n],
    ['0.0000000001', 1n],
    ['1.5Gi', 1610612736n],
    ['.5Ki', 512n],
    ['5.', 5n],
    ['100u', 1n],
    ['2G', 2000000000n],
    ['1T', 1000000000000n],
    ['1P', 1000000000000000n],
    ['1e3', 1000n],
    ['1E3', 1000n],
    ['12e-1', 2n],
    ['1E', 1000000000000000000n],
    ['8Ei', 9223372036854775808n],
    ['-1500m', -2n],
    ['+3k', 3000n],
  ] as const)('given %s, when taken as bytes, then %s, rounded away from zero', (text, bytes) => {
    expect(bytesOf(text)).toBe(bytes);
  });

  it.each([
    '',
    'Gi',
    '1 Gi',
    '1gi',
    '1K',
    'e3',
    '1e',
    '1.2.3',
    '0x10',
    '1e999999999',
    '9'.repeat(129),
    '1e65',
    '1e-65',
    '.',
  ])('given %s, when parsed, then it is not a quantity', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });
});

describe('limits', () => {
  it('given 128 characters, or an exponent of 64, when parsed, then it is a quantity', () => {
    expect(bytesOf('9'.repeat(128))).toBe(10n ** 128n - 1n);
    expect([bytesOf('1e64'), bytesOf('1e-64')]).toEqual([10n ** 64n, 1n]);
  });

  it.each([
    ['1Ki', { nanos: 1024n * 10n ** 9n, format: 'BinarySI' }],
    ['1k', { nanos: 10n ** 12n, format: 'DecimalSI' }],
    ['1m', { nanos: 10n ** 6n, format: 'DecimalSI' }],
    ['1e1', { nanos: 10n ** 10n, format: 'DecimalExponent' }],
    ['1e-1', { nanos: 10n ** 8n, format: 'DecimalExponent' }],
  ])('given %s, when parsed, then its value and its format are kept', (text, quantity) => {
    expect(parseQuantity(text)).toEqual(quantity);
  });
});

describe('canonical text', () => {
  it('[provisioner#67] given sizes in bytes, when written, then the largest binary suffix that divides exactly', () => {
    expect([5970004541n, 5632n << 20n, 5n << 30n, 102400n].map(formatBytes)).toEqual([
      '5970004541',
      '5632Mi',
      '5Gi',
      '100Ki',
    ]);
  });

  it.each([
    [0n, '0'],
    [1n, '1'],
    [500n, '500'],
    [1000n, '1k'],
    [1024n, '1Ki'],
    [1024000n, '1000Ki'],
    [1572864000n, '1500Mi'],
    [1000000000n, '1000000000'],
    [2000000000n, '1953125Ki'],
    [2147483649n, '2147483649'],
    [7n << 60n, '7Ei'],
    [1n << 70n, '1024Ei'],
    [10n ** 12n, '976562500Ki'],
  ] as const)('given %s bytes, when written, then %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it.each([
    ['1.5Gi', '1536Mi'],
    ['1000M', '1G'],
    ['1024Mi', '1Gi'],
    ['1536Mi', '1536Mi'],
    ['2G', '2G'],
    ['0.5', '500m'],
    ['1.5Ki', '1536'],
    ['1.0005Ki', '1024512m'],
    ['1T', '1T'],
    ['1P', '1P'],
    ['1e30', '1e30'],
    ['12e-1', '1200e-3'],
    ['1000Ki', '1000Ki'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['0Gi', '0'],
    ['1000E', '1000E'],
  ])('given %s, when written in its own format, then %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });
});

describe('properties', () => {
  const size = fc.bigInt({ min: 0n, max: (1n << 63n) - 1n });

  it('given any size, when written and parsed, then nothing is lost', () => {
    fc.assert(
      fc.property(size, (bytes) => bytesOf(formatBytes(bytes)) === bytes),
      { seed: 20_261_122 },
    );
  });

  it('given two sizes, when compared as quantities, then their order is that of the numbers', () => {
    fc.assert(
      fc.property(size, size, (left, right) => {
        const [a, b] = [parseQuantity(`${left}`), parseQuantity(formatBytes(right))];
        return (
          a !== undefined && b !== undefined && Math.sign(compareQuantities(a, b)) === Math.sign(Number(left - right))
        );
      }),
      { seed: 20_261_122 },
    );
  });
});
