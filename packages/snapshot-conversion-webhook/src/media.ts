// SPDX-License-Identifier: Apache-2.0
/** Bodies in the two formats that the webhook reads and writes. No integer loses a digit in either. */
import { stringifyJson } from '@csi-sidecars/runtime';
import { parseJson } from '@csi-sidecars/runtime/internal';
import { CORE_SCHEMA, defineScalarTag, dump, DUMP_SCHEMA, load, NOT_RESOLVED } from 'js-yaml';

export type Format = 'application/json' | 'application/yaml';

/**
 * A ConversionReview with an object of the largest size that the API server accepts in a request has about 3 MiB. The API server sends JSON
 * only. Decoded YAML takes ten times the memory and the time.
 */
const maxBytes: Readonly<Record<Format, number>> = {
  'application/json': 4 * 1024 * 1024,
  'application/yaml': 64 * 1024,
};

export function maxBodyBytes(contentType: string | undefined): number {
  return maxBytes[formatOf(contentType) ?? 'application/json'];
}

/** A member of a group has two to five values in 60 bytes and more. A body of nothing but `{}` would take thirty times its size in memory. */
const maxValues = 200_000;

/** The beginnings of values that JSON needs, and some more within texts. */
const beginnings = new Set(Buffer.from('{[,'));

export function hasTooManyValues(body: Buffer): boolean {
  let values = 0;
  for (const byte of body) if (beginnings.has(byte)) values += 1;
  return values > maxValues;
}

/** Undefined: another type, or one with parameters. */
export function formatOf(contentType: string | undefined): Format | undefined {
  return contentType === 'application/json' || contentType === 'application/yaml' ? contentType : undefined;
}

/** What the client wants to read: the first that it accepts. Undefined: neither. No header: JSON. */
export function acceptedFormat(accept: string | undefined): Format | undefined {
  if (accept === undefined || accept === '') return 'application/json';
  const clauses = accept.split(',').map((clause) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim().toLowerCase());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    return { type, weight: Number.isNaN(weight) ? 1 : weight };
  });
  for (const { type } of clauses.toSorted((a, b) => b.weight - a.weight)) {
    if (type === 'application/json' || type === 'application/*' || type === '*/*') return 'application/json';
    if (type === 'application/yaml') return 'application/yaml';
  }
  return undefined;
}

/** Throws for what cannot be read, with a message that holds nothing of the input. */
export function decode(body: Buffer, format: Format): unknown {
  if (format === 'application/json') return parseJson(body);
  const value = load(body.toString('utf8'), { schema });
  refuseSharedParts(value, new Set());
  return value;
}

export function encode(value: unknown, format: Format): string {
  return format === 'application/json'
    ? stringifyJson(value)
    : dump(value, { schema: dumpSchema, noRefs: true, lineWidth: -1 });
}

const integer = {
  implicit: true,
  identify: (value: unknown) => Number.isInteger(value) || typeof value === 'bigint',
} as const;
/** As in YAML's core schema, but an integer that a number cannot hold is a bigint. */
const exactInteger = defineScalarTag<number | bigint>('tag:yaml.org,2002:int', {
  ...integer,
  resolve: (source) => {
    if (!/^[-+]?\d+$/.test(source)) return NOT_RESOLVED;
    const value = Number(source);
    return Number.isSafeInteger(value) ? value : BigInt(source.replace(/^\+/, ''));
  },
});
const schema = CORE_SCHEMA.withTags(exactInteger);

/** Quotes what any version of YAML reads as a number or as a truth value: readers in Go know `yes`, `0x1F` and `12:30` as such. */
const anyInteger = defineScalarTag<number | bigint>('tag:yaml.org,2002:int', {
  ...integer,
  resolve: (source) => (/^[-+]?\d/.test(source) ? 0 : NOT_RESOLVED),
});
const dumpSchema = DUMP_SCHEMA.withTags(anyInteger);

/** An alias makes a small text stand for a value of any size. The API server writes none. */
function refuseSharedParts(value: unknown, seen: Set<object>): void {
  if (typeof value !== 'object' || value === null) return;
  if (seen.has(value)) throw new Error('aliases are not accepted');
  seen.add(value);
  for (const part of Object.values(value)) refuseSharedParts(part, seen);
}
