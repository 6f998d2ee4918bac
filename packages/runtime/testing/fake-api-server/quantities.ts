// SPDX-License-Identifier: Apache-2.0
/** Quantities as the API server stores them: canonical form, by exact integer arithmetic in thousandths or finer. */
import { badRequest } from './status.ts';

const pattern = /^([+-]?)(\d+)(?:\.(\d*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei)|([eE][-+]?\d+)|([numkMGTPE]?))$/;
const binaryUnits = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimalUnits = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const exponents = ['e-9', 'e-6', 'e-3', '', 'e3', 'e6', 'e9', 'e12', 'e15', 'e18'];
const nano = 1_000_000_000n;

export interface Quantity {
  /** In billionths; smaller parts round up, as in the API. */
  readonly nanos: bigint;
  readonly format: 'binary' | 'decimal' | 'exponent';
}

/** A string, or a number as JSON allows too. */
export function parseQuantity(value: unknown): Quantity | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const match = pattern.exec(String(value));
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', binary, exponent, decimal = ''] = match;
  const scale = exponent === undefined ? 3 * (decimalUnits.indexOf(decimal) - 3) : Number(exponent.slice(1));
  const factor = binary === undefined ? 1n : 1024n ** BigInt(binaryUnits.indexOf(binary));
  const digits = BigInt(whole + fraction) * factor;
  const power = 9 + (binary === undefined ? scale : 0) - fraction.length;
  const nanos = power >= 0 ? digits * 10n ** BigInt(power) : divideUp(digits, 10n ** BigInt(-power));
  const format = binary !== undefined ? 'binary' : exponent !== undefined ? 'exponent' : 'decimal';
  return { nanos: sign === '-' ? -nanos : nanos, format };
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

/** `1024Mi` becomes `1Gi`, `5000000000` becomes `5G`, `0.5` becomes `500m`. */
export function canonicalQuantity(value: unknown): string {
  const quantity = parseQuantity(value);
  if (quantity === undefined) throw badRequest(malformedQuantity);
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  const magnitude = nanos < 0n ? -nanos : nanos;
  const sign = nanos < 0n ? '-' : '';
  // A binary quantity below 1024 is written as a decimal one.
  if (format === 'binary' && magnitude % nano === 0n && magnitude >= 1024n * nano)
    return sign + shortest(magnitude / nano, 1024n, binaryUnits);
  return sign + shortest(magnitude, 1000n, format === 'exponent' ? exponents : decimalUnits);
}

function shortest(value: bigint, base: bigint, units: readonly string[]): string {
  let rest = value;
  let unit = 0;
  while (rest % base === 0n && unit < units.length - 1) {
    rest /= base;
    unit += 1;
  }
  return `${rest}${units[unit]}`;
}

export const malformedQuantity =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
