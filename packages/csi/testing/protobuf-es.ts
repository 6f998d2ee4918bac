// SPDX-License-Identifier: Apache-2.0
/**
 * A second oracle for the codec of messages: protobuf-es, made from the same declarations. Its messages are translated into
 * our conventions. For tests only.
 *
 * Where it differs from protobuf's Go implementation, which ours follows: it reads a known field whatever the wire type says, and
 * lets a field reach beyond the end of the message around it.
 */
import {
  type DescField,
  type DescMessage,
  type FileRegistry,
  create,
  createFileRegistry,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as FieldType,
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import protobuf from 'protobufjs';

export interface ProtobufEs {
  /** Decodes a message by its full type name. Throws for bytes that are not a message of the type. */
  readonly decode: (type: string, bytes: Uint8Array) => object;
}

export function protobufEs(root: protobuf.Root): ProtobufEs {
  const registry = registryOf(root);
  return {
    decode: (type, bytes) => {
      const desc = registry.getMessage(type);
      if (desc === undefined) throw new Error(`no such message: ${type}`);
      return messageOf(reflect(desc, fromBinary(desc, bytes, { readUnknownFields: false })));
    },
  };
}

/** The declarations as protoc would write them, for implementations in other languages. */
export function descriptorSetOf(root: protobuf.Root): Uint8Array {
  return toBinary(FileDescriptorSetSchema, fileSetOf(root));
}

function registryOf(root: protobuf.Root): FileRegistry {
  return createFileRegistry(fileSetOf(root));
}

/** One file for each package, with every message and enum of it. */
function fileSetOf(root: protobuf.Root): FileDescriptorSet {
  const packages = new Map<string, { types: protobuf.Type[]; enums: protobuf.Enum[] }>();
  const visit = (namespace: protobuf.NamespaceBase): void => {
    const own = { types: [] as protobuf.Type[], enums: [] as protobuf.Enum[] };
    for (const child of namespace.nestedArray) {
      if (child instanceof protobuf.Type) own.types.push(child);
      else if (child instanceof protobuf.Enum) own.enums.push(child);
      else if (child instanceof protobuf.Namespace && !(child instanceof protobuf.Service)) visit(child);
    }
    if (own.types.length + own.enums.length > 0) packages.set(namespace.fullName.slice(1), own);
  };
  visit(root);
  // A file comes after those that it depends on: all messages refer to the well-known types, and to their own package.
  const names = [...packages.keys()].toSorted((a) => (a.startsWith('google') ? -1 : 1));
  const file = names.map((name) =>
    create(FileDescriptorProtoSchema, {
      name: `${name}.proto`,
      package: name,
      syntax: 'proto3',
      dependency: name.startsWith('google')
        ? []
        : names.filter((other) => other.startsWith('google')).map((other) => `${other}.proto`),
      messageType: packages.get(name)?.types.map(typeDescriptor) ?? [],
      enumType: packages.get(name)?.enums.map(enumDescriptor) ?? [],
    }),
  );
  return create(FileDescriptorSetSchema, { file });
}

function typeDescriptor(type: protobuf.Type): DescriptorProto {
  const nested = type.nestedArray.filter((child) => child instanceof protobuf.Type).map(typeDescriptor);
  const entries = type.fieldsArray.filter((field) => field.map).map(entryDescriptor);
  return create(DescriptorProtoSchema, {
    name: type.name,
    field: type.fieldsArray.map((field) => ({
      name: field.name,
      number: field.id,
      label: field.repeated || field.map ? Label.REPEATED : Label.OPTIONAL,
      ...typeOf(field),
      ...(field.map ? { type: FieldType.MESSAGE, typeName: `${type.fullName}.${entryName(field)}` } : {}),
      ...(field.partOf === null ? {} : { oneofIndex: type.oneofsArray.indexOf(field.partOf) }),
    })),
    nestedType: [...nested, ...entries],
    enumType: type.nestedArray.filter((child) => child instanceof protobuf.Enum).map(enumDescriptor),
    oneofDecl: type.oneofsArray.map(({ name }) => ({ name })),
  });
}

function entryName({ name }: protobuf.Field): string {
  return `${name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Entry`;
}

function entryDescriptor(field: protobuf.Field): DescriptorProto {
  const member = { label: Label.OPTIONAL, type: FieldType.STRING };
  return create(DescriptorProtoSchema, {
    name: entryName(field),
    field: [
      { ...member, name: 'key', number: 1 },
      { ...member, name: 'value', number: 2 },
    ],
    options: { mapEntry: true },
  });
}

function enumDescriptor(declared: protobuf.Enum) {
  const value = Object.entries(declared.values).map(([name, number]) => ({ name, number }));
  return { name: declared.name, value: value.toSorted((a, b) => a.number - b.number) };
}

const scalars: ReadonlyMap<string, FieldType> = new Map([
  ['string', FieldType.STRING],
  ['bool', FieldType.BOOL],
  ['int32', FieldType.INT32],
  ['int64', FieldType.INT64],
]);

function typeOf({ resolvedType, type }: protobuf.Field): { readonly type: FieldType; readonly typeName?: string } {
  if (resolvedType === null) return { type: scalars.get(type) ?? FieldType.BYTES };
  const kind = resolvedType instanceof protobuf.Enum ? FieldType.ENUM : FieldType.MESSAGE;
  return { type: kind, typeName: resolvedType.fullName };
}

function messageOf(message: ReflectMessage): object {
  const desc: DescMessage = message.desc;
  const plain = desc.fields
    .filter((field) => field.oneof === undefined)
    .map((field) => [field.name, valueOf(message, field)]);
  const chosen = desc.oneofs.flatMap((oneof) => {
    const field = message.oneofCase(oneof);
    return field === undefined
      ? []
      : [
          [field.name, valueOf(message, field)],
          [oneof.name, field.name],
        ];
  });
  return Object.fromEntries([...plain, ...chosen]) as object;
}

function valueOf(message: ReflectMessage, field: DescField): unknown {
  switch (field.fieldKind) {
    case 'message':
      return field.oneof !== undefined || message.isSet(field) ? messageOf(message.get(field)) : null;
    case 'list':
      return [...message.get(field)].map((each) =>
        field.listKind === 'message' ? messageOf(each as ReflectMessage) : each,
      );
    case 'map':
      return Object.fromEntries(message.get(field));
    case 'enum': {
      const number = message.get(field);
      return field.enum.values.find((value) => value.number === number)?.name ?? number;
    }
    case 'scalar': {
      const value = message.get(field);
      return typeof value === 'bigint' ? value.toString() : value;
    }
  }
}
