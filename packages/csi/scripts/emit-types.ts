// SPDX-License-Identifier: Apache-2.0
/**
 * Messages as TypeScript. Every message gets two types: `X` is the decoded form (all fields are present: scalars, lists and maps with
 * their defaults, unset messages as null, and only the populated member of a oneof plus its name), and `XInput` is the form for
 * building one (everything optional; any `X` is a valid `XInput`).
 */
import protobuf from 'protobufjs';
import type { Enum, Field, Method, ReflectionObject, Root, Service, Type } from 'protobufjs';

export function emitTypes(root: Root, file: { readonly proto: string; readonly methods: string }): string {
  const found = collect(root);
  return [
    '// SPDX-License-Identifier: Apache-2.0',
    `// Generated from proto/${file.proto} by "npm run generate". Do not edit.`,
    '',
    ...found.enums.map(emitEnum),
    ...found.types.map(emitMessage),
    emitMethods(found.services, file.methods),
  ].join('\n');
}

interface Found {
  readonly enums: Enum[];
  readonly types: Type[];
  readonly services: Service[];
}

/** In order of declaration. Well-known types are included only if a field refers to them. */
function collect(root: Root): Found {
  const found: Found = { enums: [], types: [], services: [] };
  const referred = new Set<ReflectionObject>();
  const visit = (objects: readonly ReflectionObject[], keep: (object: ReflectionObject) => boolean): void => {
    for (const object of objects) {
      if (object instanceof protobuf.Enum && keep(object)) found.enums.push(object);
      if (object instanceof protobuf.Service && keep(object)) found.services.push(object);
      if (object instanceof protobuf.Type && keep(object)) {
        found.types.push(object);
        for (const field of object.fieldsArray) if (field.resolvedType) referred.add(field.resolvedType);
      }
      if (object instanceof protobuf.Namespace) visit(object.nestedArray, keep);
    }
  };
  const google = root.get('google');
  visit(
    root.nestedArray.filter((object) => object !== google),
    () => true,
  );
  if (google) visit([google], (object) => referred.has(object));
  return found;
}

/** `csi.v1.VolumeCapability.AccessMode` becomes `VolumeCapability_AccessMode`. */
function nameOf(object: ReflectionObject): string {
  return object.fullName
    .split('.')
    .filter((part) => /^[A-Z]/.test(part))
    .join('_');
}

function emitEnum(object: Enum): string {
  const names = Object.keys(object.values).map((value) => `  | '${value}'`);
  return `/** A number is a value this version does not know. */\nexport type ${nameOf(object)} =\n${names.join('\n')}\n  | number;\n`;
}

function emitMessage(type: Type): string {
  const decoded = type.fieldsArray.map((field) => {
    const sort = typeOf(field, '');
    if (field.partOf) return `  readonly ${field.name}?: ${sort} | undefined;`;
    return `  readonly ${field.name}: ${isSingleMessage(field) ? `${sort} | null` : sort};`;
  });
  const chosen = type.oneofsArray.map((oneof) => {
    const members = oneof.fieldsArray.map((field) => `'${field.name}'`).join(' | ');
    return `  readonly ${oneof.name}?: ${members} | undefined;`;
  });
  const input = type.fieldsArray.map((field) => {
    const absent = isSingleMessage(field) ? 'null | undefined' : 'undefined';
    return `  readonly ${field.name}?: ${typeOf(field, 'Input')} | ${absent};`;
  });
  return `${emitRecord(nameOf(type), [...decoded, ...chosen])}\n${emitRecord(`${nameOf(type)}Input`, input)}`;
}

function emitRecord(name: string, lines: readonly string[]): string {
  if (lines.length === 0) return `export type ${name} = Readonly<Record<string, never>>;\n`;
  return `export interface ${name} {\n${lines.join('\n')}\n}\n`;
}

function isSingleMessage(field: Field): boolean {
  return field.resolvedType instanceof protobuf.Type && !field.repeated && !field.map;
}

function typeOf(field: Field, suffix: '' | 'Input'): string {
  const element =
    field.resolvedType instanceof protobuf.Type
      ? `${nameOf(field.resolvedType)}${suffix}`
      : field.resolvedType instanceof protobuf.Enum
        ? nameOf(field.resolvedType)
        : scalar(field);
  if (field.map) return `Readonly<Record<string, ${element}>>`;
  return field.repeated ? `readonly ${element}[]` : element;
}

function scalar(field: Field): string {
  switch (field.type) {
    case 'string':
    case 'int64': // decimal digits: values beyond 2^53 are legal
    case 'uint64':
      return 'string';
    case 'bool':
      return 'boolean';
    case 'int32':
    case 'uint32':
    case 'float':
    case 'double':
      return 'number';
    case 'bytes':
      return 'Buffer';
    default:
      throw new Error(`${field.fullName}: no rule for type ${field.type}`);
  }
}

function emitMethods(services: readonly Service[], name: string): string {
  const all = services.flatMap((service) => service.methodsArray.filter((method) => !method.requestStream));
  const unary = all.filter((method) => !method.responseStream);
  const streaming = all.filter((method) => method.responseStream);
  if (unary.length === 0) return emitTable(name, 'server-streaming', streaming).join('\n');
  const streamed = streaming.length === 0 ? [] : emitTable('StreamingMethods', 'server-streaming', streaming);
  return [...emitTable(name, 'unary', unary), ...streamed].join('\n');
}

function emitTable(name: string, kind: string, methods: readonly Method[]): readonly string[] {
  const entries = methods.map((method) => {
    const [request, response] = messagesOf(method);
    return [
      `  readonly '/${method.parent?.fullName.slice(1)}/${method.name}': {`,
      `    readonly request: ${request}Input;`,
      `    readonly response: ${response};`,
      `    readonly decodedRequest: ${request};`,
      `    readonly responseInput: ${response}Input;`,
      '  };',
    ].join('\n');
  });
  return [
    `/** Full name of every ${kind} method: what a client sends and gets, and what a server gets and sends. */`,
    `export interface ${name} {`,
    ...entries,
    '}',
    '',
  ];
}

function messagesOf(method: Method): readonly [string, string] {
  if (!method.resolvedRequestType || !method.resolvedResponseType) throw new Error(`${method.fullName}: not resolved`);
  return [nameOf(method.resolvedRequestType), nameOf(method.resolvedResponseType)];
}
