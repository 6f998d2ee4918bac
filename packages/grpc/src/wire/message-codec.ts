// SPDX-License-Identifier: Apache-2.0
/**
 * Messages in protobuf's wire format, by descriptor, as far as our protocols need it: strings, bools, int32 and int64, enums,
 * messages, lists of strings and of messages, maps of strings, oneofs. A descriptor with anything else is refused when its
 * codec is made. Fields with their default value are not written.
 *
 * Decoding follows protobuf's Go implementation: unknown fields and groups are skipped, and so is a known field with another wire
 * type; of a scalar that came twice the last one counts, and a message that came twice is merged; a string must be UTF-8.
 *
 * Conventions of decoded messages: field names are as declared; int64 are decimal strings; enums are names (a number is a value
 * that this version does not know); unset messages are null; of a oneof there is the populated member, and its name under the
 * name of the oneof; lists and maps are never absent.
 */
import { type Descriptor, type Scope, lookUp } from './descriptor.ts';
import { type FieldCodec, type Message, fieldCodec } from './field-codec.ts';
import { Reader, wireTypes } from './reader.ts';
import { type ValueCodec, enumCodec, scalarCodec } from './value-codec.ts';
import { Writer } from './writer.ts';

export interface MessageCodec {
  /** Throws for a value that its field cannot have. */
  readonly encode: (message: object) => Buffer;
  /** Throws for bytes that are no message of the type. */
  readonly decode: (bytes: Uint8Array) => object;
}

interface MessageType {
  readonly write: (out: Writer, message: object) => void;
  /** Reads up to the reader's end, into a new message or on top of one. */
  readonly read: (input: Reader, into?: Message | null) => Message;
}

/** Makes codecs; messages that occur in several others have one. */
export function messageCodecs(): (scope: Scope) => MessageCodec {
  const known = new Map<Descriptor, MessageType>();

  function typeOf(scope: Scope): MessageType {
    const [descriptor] = scope as readonly [Descriptor];
    let type = known.get(descriptor);
    if (type === undefined) {
      const oneofs = Object.entries(descriptor.oneofs ?? {});
      const fields = Object.entries(descriptor.fields ?? {}).map(([name, field]) =>
        fieldCodec(
          { name, field, oneof: oneofs.find(([, { oneof }]) => oneof.includes(name))?.[0] },
          valueCodec(scope, field.type),
        ),
      );
      type = { write: writer(fields), read: reader(fields) };
      known.set(descriptor, type);
    }
    return type;
  }

  function valueCodec(scope: Scope, name: string): ValueCodec {
    const scalar = scalarCodec(name);
    if (scalar !== undefined) return scalar;
    const found = lookUp(scope, name);
    if (found?.[0]?.values !== undefined) return enumCodec(found[0].values);
    if (found?.[0]?.fields === undefined) throw new Error(`fields of type ${name} are not supported`);
    return nested(typeOf(found));
  }

  return (scope) => {
    const type = typeOf(scope);
    return {
      encode: (message) => {
        const out = new Writer();
        type.write(out, message);
        return out.finish();
      },
      decode: (bytes) => type.read(new Reader(bytes)),
    };
  };
}

function writer(fields: readonly FieldCodec[]): MessageType['write'] {
  return (out, message) => {
    for (const { name, write } of fields) {
      const value = (message as Message)[name];
      if (value !== undefined && value !== null) write(out, value);
    }
  };
}

/** Numbers of fields have 29 bits. */
const largestId = 2 ** 29 - 1;

function reader(fields: readonly FieldCodec[]): MessageType['read'] {
  const byId = new Map(fields.map((field) => [field.id, field]));
  return (input, into) => {
    const message: Message = into ?? emptyMessage(fields);
    while (!input.isAtEnd()) {
      const tag = input.number();
      const [id, wireType] = [Math.floor(tag / 8), tag % 8];
      if (id < 1 || id > largestId) throw new Error(`field number ${id}`);
      const field = byId.get(id);
      // A newer peer may send more than was declared, or declare it otherwise.
      if (field === undefined || field.wireType !== wireType) input.skip(id, wireType);
      else field.read(input, message);
    }
    return message;
  };
}

function emptyMessage(fields: readonly FieldCodec[]): Message {
  const message: Message = {};
  for (const { name, empty } of fields) if (empty !== undefined) message[name] = empty();
  return message;
}

function nested(type: MessageType): ValueCodec {
  return {
    wireType: wireTypes.lengthDelimited,
    write: (out, value) => {
      const start = out.begin();
      type.write(out, value as object);
      out.end(start);
    },
    read: (input, before) => {
      const outer = input.enter();
      const message = type.read(input, before as Message | null);
      input.leave(outer);
      return message;
    },
    unset: null,
    isUnset: () => false,
  };
}
