// SPDX-License-Identifier: Apache-2.0
/** Bodies of reviews: which formats are read and written, and how large they may be. No integer of JSON loses a digit. */
import { parseJson, stringifyJson } from '../api/json.ts';

export interface Format {
  readonly contentType: string;
  readonly maxBytes: number;
  /** Throws for what cannot be read, with a message that holds nothing of the input. */
  readonly decode: (body: Buffer) => unknown;
  readonly encode: (value: unknown) => string;
}

/** The first one is written for a client that accepts any. */
export type Formats = readonly [Format, ...(readonly Format[])];

export function jsonFormat(maxBytes: number): Format {
  return { contentType: 'application/json', maxBytes, decode: parseJson, encode: stringifyJson };
}

/** Undefined: another type, or one with parameters. */
export function formatOf(formats: Formats, contentType: string | undefined): Format | undefined {
  return formats.find((format) => format.contentType === contentType);
}

export function maxBodyBytes(formats: Formats, contentType: string | undefined): number {
  return (formatOf(formats, contentType) ?? formats[0]).maxBytes;
}

/** What the client wants to read: the first that it accepts. Undefined: none of them. No header: the first format. */
export function acceptedFormat(formats: Formats, accept: string | undefined): Format | undefined {
  const [usual] = formats;
  if (accept === undefined || accept === '') return usual;
  const clauses = accept.split(',').map((clause) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim().toLowerCase());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    return { type, weight: Number.isNaN(weight) ? 1 : weight };
  });
  for (const { type } of clauses.toSorted((a, b) => b.weight - a.weight)) {
    const format = type === 'application/*' || type === '*/*' ? usual : formatOf(formats, type);
    if (format !== undefined) return format;
  }
  return undefined;
}

/** The beginnings of values that JSON needs, and some more within texts. */
const beginnings = new Set(Buffer.from('{[,'));

/** Decoded, a body of nothing but `{}` would take thirty times its size in memory. */
export function hasTooManyValues(body: Buffer, most: number): boolean {
  let values = 0;
  for (const byte of body) if (beginnings.has(byte)) values += 1;
  return values > most;
}
