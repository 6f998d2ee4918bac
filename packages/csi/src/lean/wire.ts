// SPDX-License-Identifier: Apache-2.0
/**
 * Messages in protobuf's wire format, by descriptor: strings, bools, messages, lists of strings, maps of strings. That is
 * what the services of the node programs are made of; a descriptor with anything else is refused when its codec is made.
 * Decoded values follow the conventions in methods.ts: declared names, defaults filled in, unset messages null.
 */
import { type Descriptor, type FieldDescriptor, type Scope, lookUp } from '../sanitizer/descriptor.ts';

export interface MessageCodec {
  readonly encode: (message: object) => Buffer;
  /** Throws for what is no message of the type. */
  readonly decode: (bytes: Uint8Array) => object;
}

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

/** How one value of a field is written and read. */
interface ValueCodec {
  readonly wireType: typeof varint | typeof lengthDelimited;
  readonly write: (value: unknown) => Buffer;
  readonly read: (bytes: Uint8Array) => unknown;
  readonly unset: unknown;
  readonly isUnset: (value: unknown) => boolean;
}

type Record_ = Record<string, unknown>;

export function codecFor(scope: Scope): MessageCodec {
  const fields = Object.entries(scope[0]?.fields ?? {}).map(([name, field]) => {
    if (field.id === undefined) throw new Error(`field ${name} has no number`);
    return { name, id: field.id, field, value: valueCodec(scope, field) };
  });
  return {
    encode: (message) =>
      Buffer.concat(
        fields.flatMap(({ name, id, field, value }) =>
          valuesOf(field, (message as Record_)[name]).flatMap((each) => {
            if (field.rule !== 'repeated' && value.isUnset(each)) return [];
            return [writeTag(id, value.wireType), value.write(each)];
          }),
        ),
      ),
    decode: (bytes) => {
      const message: Record_ = {};
      for (const { name, field, value } of fields) message[name] = emptyOf(field, value);
      for (const { id, wireType, bytes: content } of readFields(bytes)) {
        const known = fields.find((each) => each.id === id);
        // A newer peer may send more than was declared.
        if (known === undefined) continue;
        const { name, field, value } = known;
        if (wireType !== value.wireType) throw new Error(`field ${name} has a wrong wire type`);
        const read = value.read(content);
        if (field.keyType !== undefined) {
          const [key, entry] = read as readonly [string, unknown];
          (message[name] as Record_)[key] = entry;
        } else if (field.rule === 'repeated') (message[name] as unknown[]).push(read);
        else message[name] = read;
      }
      return message;
    },
  };
}

function valuesOf(field: FieldDescriptor, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (field.keyType !== undefined) return Object.entries(value);
  return field.rule === 'repeated' ? (value as readonly unknown[]) : [value];
}

function emptyOf(field: FieldDescriptor, value: ValueCodec): unknown {
  if (field.keyType !== undefined) return {};
  return field.rule === 'repeated' ? [] : value.unset;
}

function valueCodec(scope: Scope, field: FieldDescriptor): ValueCodec {
  if (field.keyType !== undefined) return mapEntry(scope, field.keyType, field.type);
  if (field.type === 'string') return stringValue;
  if (field.type === 'bool' && field.rule !== 'repeated') return boolValue;
  const nested = lookUp(scope, field.type);
  if (nested?.[0]?.fields === undefined) throw new Error(`fields of type ${field.type} are not supported`);
  const codec = codecFor(nested);
  return {
    wireType: lengthDelimited,
    write: (value) => prefixed(codec.encode(value as object)),
    read: codec.decode,
    unset: null,
    isUnset: () => false,
  };
}

const stringValue: ValueCodec = {
  wireType: lengthDelimited,
  write: (value) => prefixed(Buffer.from(String(value), 'utf8')),
  read: (bytes) => Buffer.from(bytes).toString('utf8'),
  unset: '',
  isUnset: (value) => value === '',
};

const boolValue: ValueCodec = {
  wireType: varint,
  write: (value) => Buffer.of(value === true ? 1 : 0),
  read: (bytes) => bytes.some((byte) => (byte & 0x7f) !== 0),
  unset: false,
  isUnset: (value) => value !== true,
};

/** An entry is a message of two fields. */
function mapEntry(scope: Scope, keyType: string, type: string): ValueCodec {
  const entry: Descriptor = { fields: { key: { type: keyType, id: 1 }, value: { type, id: 2 } } };
  const codec = codecFor([entry, ...scope]);
  return {
    wireType: lengthDelimited,
    write: (value) => {
      const [key, item] = value as readonly [string, unknown];
      return prefixed(codec.encode({ key, value: item }));
    },
    read: (bytes) => {
      const { key, value } = codec.decode(bytes) as Record_;
      return [key, value];
    },
    unset: undefined,
    isUnset: () => false,
  };
}

function writeTag(id: number, wireType: number): Buffer {
  return writeVarint(id * 8 + wireType);
}

function prefixed(bytes: Buffer): Buffer {
  return Buffer.concat([writeVarint(bytes.length), bytes]);
}

function writeVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

interface RawField {
  readonly id: number;
  readonly wireType: number;
  /** A varint as it stands, else the content. */
  readonly bytes: Uint8Array;
}

function* readFields(bytes: Uint8Array): Iterable<RawField> {
  let at = 0;
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new Error('the message ends too early');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const takeVarint = (): Uint8Array => {
    const start = at;
    while ((take(1)[0] ?? 0) > 0x7f) if (at - start > 9) throw new Error('varint too long');
    return bytes.subarray(start, at);
  };
  while (at < bytes.length) {
    const tag = valueOf(takeVarint());
    const wireType = tag % 8;
    const id = Math.floor(tag / 8);
    if (id === 0) throw new Error('field number 0');
    if (wireType === varint) yield { id, wireType, bytes: takeVarint() };
    else if (wireType === lengthDelimited) yield { id, wireType, bytes: take(valueOf(takeVarint())) };
    else if (wireType === fixed64) yield { id, wireType, bytes: take(8) };
    else if (wireType === fixed32) yield { id, wireType, bytes: take(4) };
    else throw new Error(`wire type ${wireType}`);
  }
}

function valueOf(bytes: Uint8Array): number {
  return bytes.reduceRight((value, byte) => value * 0x80 + (byte & 0x7f), 0);
}
