// SPDX-License-Identifier: Apache-2.0
/**
 * Messages in protobuf's wire format, by descriptor, as far as our protocols need it: strings, bools, int32 and int64, enums,
 * messages, lists of strings and of messages, maps of strings, oneofs. A descriptor with anything else is refused when its
 * codec is made. Decoded values follow the conventions in methods.ts. Fields with their default value are not written,
 * unknown ones are skipped, and of a field that came twice the last one counts.
 */
import { type Descriptor, type Scope, lookUp } from '../sanitizer/descriptor.ts';
import { type FieldCodec, type Message, fieldCodec } from './field-codec.ts';
import { Reader, wireTypes } from './reader.ts';
import { type ValueCodec, enumCodec, scalarCodec } from './value-codec.ts';
import { Writer } from './writer.ts';

export interface MessageCodec {
  /** Throws for a value that its field cannot have. */
  readonly encode: (message: object) => Buffer;
  /** Throws for what is no message of the type. */
  readonly decode: (bytes: Uint8Array) => object;
}

interface MessageType {
  readonly write: (out: Writer, message: object) => void;
  /** Up to where the reader ends. */
  readonly read: (input: Reader) => object;
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

function reader(fields: readonly FieldCodec[]): MessageType['read'] {
  const byId = new Map(fields.map((field) => [field.id, field]));
  return (input) => {
    const message: Message = {};
    for (const { name, empty } of fields) if (empty !== undefined) message[name] = empty();
    while (!input.isAtEnd()) {
      const tag = input.number();
      const [id, wireType] = [Math.floor(tag / 8), tag % 8];
      const field = byId.get(id);
      if (field === undefined) {
        if (id === 0) throw new Error('field number 0');
        // A newer peer may send more than was declared.
        input.skip(wireType);
      } else {
        if (wireType !== field.wireType) throw new Error(`field ${field.name} has a wrong wire type`);
        field.read(input, message);
      }
    }
    return message;
  };
}

function nested(type: MessageType): ValueCodec {
  return {
    wireType: wireTypes.lengthDelimited,
    write: (out, value) => {
      const start = out.begin();
      type.write(out, value as object);
      out.end(start);
    },
    read: (input) => {
      const outer = input.enter();
      const message = type.read(input);
      input.leave(outer);
      return message;
    },
    unset: null,
    isUnset: () => false,
  };
}
