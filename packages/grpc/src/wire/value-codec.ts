// SPDX-License-Identifier: Apache-2.0
/** How one value is written and read: scalars, enums, entries of maps of strings. */
import { type Reader, wireTypes } from './reader.ts';
import type { Writer } from './writer.ts';

export interface ValueCodec {
  readonly wireType: typeof wireTypes.varint | typeof wireTypes.lengthDelimited;
  readonly write: (out: Writer, value: unknown) => void;
  /** @param before what the field has already; a message is merged with it. */
  readonly read: (input: Reader, before: unknown) => unknown;
  /** What a field has that was not sent. */
  readonly unset: unknown;
  readonly isUnset: (value: unknown) => boolean;
}

const stringValue: ValueCodec = {
  wireType: wireTypes.lengthDelimited,
  write: (out, value) => out.string(String(value)),
  read: (input) => input.string(),
  unset: '',
  isUnset: (value) => value === '',
};

const boolValue: ValueCodec = {
  wireType: wireTypes.varint,
  write: (out) => out.varint(1),
  read: (input) => input.bool(),
  unset: false,
  isUnset: (value) => value !== true,
};

const int64Value: ValueCodec = {
  wireType: wireTypes.varint,
  write: writeInteger,
  read: (input) => input.int64(),
  unset: '0',
  isUnset: (value) => Number(value) === 0,
};

const int32Value: ValueCodec = {
  wireType: wireTypes.varint,
  write: writeInteger,
  read: (input) => input.int32(),
  unset: 0,
  isUnset: (value) => value === 0,
};

/** Undefined for a type that is no scalar, or that none of our messages has. */
export function scalarCodec(type: string): ValueCodec | undefined {
  switch (type) {
    case 'string':
      return stringValue;
    case 'bool':
      return boolValue;
    case 'int64':
      return int64Value;
    case 'int32':
      return int32Value;
    default:
      return undefined;
  }
}

/** Names; a number is a value this version does not know. */
export function enumCodec(values: Readonly<Record<string, number>>): ValueCodec {
  const numbers = new Map(Object.entries(values));
  const names = new Map(Object.entries(values).map(([name, number]) => [number, name]));
  const numberOf = (value: unknown): unknown => (typeof value === 'string' ? numbers.get(value) : value);
  return {
    wireType: wireTypes.varint,
    write: (out, value) => {
      const number = numberOf(value);
      if (number === undefined) throw new Error(`no such value of the enum: ${String(value)}`);
      writeInteger(out, number);
    },
    read: (input) => {
      const number = input.int32();
      return names.get(number) ?? number;
    },
    unset: names.get(0) ?? 0,
    isUnset: (value) => numberOf(value) === 0,
  };
}

const keyTag = 8 + wireTypes.lengthDelimited;
const valueTag = 16 + wireTypes.lengthDelimited;

/** An entry of a map of strings: a message of two fields. */
export const mapEntry = {
  write: (out: Writer, key: string, value: unknown): void => {
    const start = out.begin();
    out.varint(keyTag);
    out.string(key);
    out.varint(valueTag);
    out.string(String(value));
    out.end(start);
  },
  read: (input: Reader): readonly [key: string, value: string] => {
    let [key, value] = ['', ''];
    const outer = input.enter();
    while (!input.isAtEnd()) {
      const tag = input.number();
      if (tag === keyTag) key = input.string();
      else if (tag === valueTag) value = input.string();
      else input.skip(Math.floor(tag / 8), tag % 8);
    }
    input.leave(outer);
    return [key, value];
  },
} as const;

function writeInteger(out: Writer, value: unknown): void {
  const number = Number(value);
  if (number >= 0 && Number.isSafeInteger(number)) out.varint(number);
  else out.bigVarint(BigInt(value as string | number | bigint));
}
