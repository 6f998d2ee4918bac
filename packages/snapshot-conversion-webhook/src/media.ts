// SPDX-License-Identifier: Apache-2.0
/** YAML, which upstream's webhook reads and writes beside JSON. No integer loses a digit. */
import { conversionBytes, type Format, type Formats, jsonFormat } from '@csi-sidecars/runtime/internal';
import { CORE_SCHEMA, defineScalarTag, dump, DUMP_SCHEMA, load, NOT_RESOLVED } from 'js-yaml';

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

/** The API server sends JSON only. Decoded YAML takes ten times the memory and the time. */
export const yaml: Format = {
  contentType: 'application/yaml',
  maxBytes: 64 * 1024,
  decode: (body) => {
    const value = load(body.toString('utf8'), { schema });
    refuseSharedParts(value, new Set());
    return value;
  },
  encode: (value) => dump(value, { schema: dumpSchema, noRefs: true, lineWidth: -1 }),
};

export const formats: Formats = [jsonFormat(conversionBytes), yaml];

/** An alias makes a small text stand for a value of any size. The API server writes none. */
function refuseSharedParts(value: unknown, seen: Set<object>): void {
  if (typeof value !== 'object' || value === null) return;
  if (seen.has(value)) throw new Error('aliases are not accepted');
  seen.add(value);
  for (const part of Object.values(value)) refuseSharedParts(part, seen);
}
