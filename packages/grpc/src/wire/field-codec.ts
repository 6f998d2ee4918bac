// SPDX-License-Identifier: Apache-2.0
/** How a field of a message is written and read: one value, a member of a oneof, a list, a map. */
import type { FieldDescriptor } from './descriptor.ts';
import { type Reader, wireTypes } from './reader.ts';
import { type ValueCodec, mapEntry } from './value-codec.ts';
import type { Writer } from './writer.ts';

export type Message = Record<string, unknown>;

export interface FieldCodec {
  readonly name: string;
  readonly id: number;
  readonly wireType: number;
  /** Not called for undefined and null. */
  readonly write: (out: Writer, value: unknown) => void;
  readonly read: (input: Reader, message: Message) => void;
  /** Makes what a decoded message has when the field was not sent. Undefined for a member of a oneof: the message lacks it. */
  readonly empty: (() => unknown) | undefined;
}

interface DeclaredField {
  readonly name: string;
  readonly field: FieldDescriptor;
  /** Name of the oneof that it belongs to. */
  readonly oneof: string | undefined;
}

/** @param value of the field's type; for a map, of its values. */
export function fieldCodec({ name, field, oneof }: DeclaredField, value: ValueCodec): FieldCodec {
  const { id, keyType, type, rule } = field;
  if (id === undefined) throw new Error(`field ${name} has no number`);
  if (keyType !== undefined) {
    if (keyType !== 'string' || type !== 'string') throw new Error(`maps of ${keyType} to ${type} are not supported`);
    return mapField(name, id);
  }
  const facts = { name, id, wireType: value.wireType };
  const tag = id * 8 + value.wireType;
  if (rule === 'repeated') {
    if (value.wireType !== wireTypes.lengthDelimited) throw new Error(`lists of ${type} are not supported`);
    return {
      ...facts,
      empty: () => [],
      write: (out, list) => {
        for (const each of list as readonly unknown[]) {
          out.varint(tag);
          value.write(out, each);
        }
      },
      read: (input, message) => void (message[name] as unknown[]).push(value.read(input, undefined)),
    };
  }
  if (oneof === undefined) {
    return {
      ...facts,
      empty: () => value.unset,
      write: (out, single) => {
        if (value.isUnset(single)) return;
        out.varint(tag);
        value.write(out, single);
      },
      read: (input, message) => {
        message[name] = value.read(input, message[name]);
      },
    };
  }
  return {
    ...facts,
    empty: undefined,
    write: (out, member) => {
      out.varint(tag);
      value.write(out, member);
    },
    read: (input, message) => {
      const before = message[oneof];
      if (typeof before === 'string' && before !== name) Reflect.deleteProperty(message, before);
      message[name] = value.read(input, message[name]);
      message[oneof] = name;
    },
  };
}

function mapField(name: string, id: number): FieldCodec {
  const tag = id * 8 + wireTypes.lengthDelimited;
  return {
    name,
    id,
    wireType: wireTypes.lengthDelimited,
    empty: () => ({}),
    write: (out, map) => {
      for (const [key, value] of Object.entries(map as object)) {
        out.varint(tag);
        mapEntry.write(out, key, value);
      }
    },
    read: (input, message) => {
      const [key, value] = mapEntry.read(input);
      const map = message[name] as Record<string, string>;
      if (key !== '__proto__') map[key] = value;
      // An assignment would set the prototype.
      else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
    },
  };
}
