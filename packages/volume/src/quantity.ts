// SPDX-License-Identifier: Apache-2.0
/**
 * Kubernetes quantities, exactly: the value is an integer count of 10^-9 units, so nothing is ever rounded through a
 * floating point number. Finer values are rounded away from zero when parsed, as the API server does.
 */
export interface Quantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

const nano = 1_000_000_000n;
const binarySuffixes = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'] as const;
const syntax = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+|)$/;
/** Longer texts and larger exponents cannot be sizes; the limit keeps a hostile object from using up memory. */
const maxTextLength = 128;
const maxExponent = 64;

/** Undefined if the text is not a quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > maxTextLength) return undefined;
  const match = syntax.exec(text);
  if (match === null) return undefined;
  const [, sign = '', digits = '', suffix = ''] = match;
  const scale = scaleOf(suffix);
  if (scale === undefined) return undefined;
  const [whole = '', fraction = ''] = digits.split('.');
  const magnitude = divideUp(BigInt(`${whole}${fraction}`) * scale.numerator * nano, {
    by: 10n ** BigInt(fraction.length) * scale.denominator,
  });
  return { nanos: sign === '-' ? -magnitude : magnitude, format: scale.format };
}

/** The whole bytes that hold the quantity: rounded away from zero. */
export function toBytes(quantity: Quantity): bigint {
  const magnitude = divideUp(absolute(quantity.nanos), { by: nano });
  return quantity.nanos < 0n ? -magnitude : magnitude;
}

/** Negative, zero or positive, as a comparison function of `sort`. */
export function compareQuantities(left: Quantity, right: Quantity): number {
  return left.nanos < right.nanos ? -1 : left.nanos > right.nanos ? 1 : 0;
}

/** The text of a size that a driver reported: canonical, binary. `5368709120n` is `5Gi`, `1000n` is `1k`. */
export function formatBytes(bytes: bigint): string {
  return formatQuantity({ nanos: bytes * nano, format: 'BinarySI' });
}

/** The canonical text of the quantity in its own format: `1.5Gi` is `1536Mi`, `1000M` is `1G`. */
export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  // Below 1024 and with a fraction of a byte no binary suffix is exact; the API server then writes decimal.
  if (format === 'BinarySI' && nanos % nano === 0n && absolute(nanos) >= 1024n * nano)
    return formatBinary(nanos / nano);
  return formatDecimal(nanos, format);
}

function formatBinary(value: bigint): string {
  let rest = value;
  let power = 0;
  while (power < binarySuffixes.length && rest % 1024n === 0n) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${binarySuffixes[power - 1] ?? ''}`;
}

function formatDecimal(nanos: bigint, format: QuantityFormat): string {
  const most = format === 'DecimalExponent' ? Infinity : decimalSuffixes.length - 1;
  let rest = nanos;
  let thousands = 0;
  while (thousands < most && rest % 1000n === 0n) {
    rest /= 1000n;
    thousands++;
  }
  const exponent = thousands * 3 - 9;
  if (format === 'DecimalExponent') return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  return `${rest}${decimalSuffixes[thousands] ?? ''}`;
}

interface Scale {
  readonly numerator: bigint;
  readonly denominator: bigint;
  readonly format: QuantityFormat;
}

const scales: ReadonlyMap<string, Scale> = new Map([
  ...binarySuffixes.map((suffix, index): [string, Scale] => [
    suffix,
    { numerator: 1024n ** BigInt(index + 1), denominator: 1n, format: 'BinarySI' },
  ]),
  ...decimalSuffixes.map((suffix, index): [string, Scale] => [suffix, powerOfTen(index * 3 - 9, 'DecimalSI')]),
]);

function scaleOf(suffix: string): Scale | undefined {
  const scale = scales.get(suffix);
  if (scale !== undefined) return scale;
  const exponent = Number(suffix.slice(1));
  return Math.abs(exponent) > maxExponent ? undefined : powerOfTen(exponent, 'DecimalExponent');
}

function powerOfTen(exponent: number, format: QuantityFormat): Scale {
  const power = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? { numerator: 1n, denominator: power, format } : { numerator: power, denominator: 1n, format };
}

function divideUp(value: bigint, divisor: { readonly by: bigint }): bigint {
  return (value + divisor.by - 1n) / divisor.by;
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}
