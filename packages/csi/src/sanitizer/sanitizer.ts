// SPDX-License-Identifier: Apache-2.0
/**
 * Messages as one line of JSON for the log, without their secrets. Which fields are secret is read from the declaration
 * (option `csi_secret`), so a new one cannot be forgotten. Only declared fields are printed; fields that a newer peer added are not.
 * Guarantees: it never throws and never changes the message. Its cost grows with the size of the message, so call it only for a line
 * that will be written.
 */
import { type Descriptor, type FieldDescriptor, type Scope, lookUp, ownMember } from '@csi-sidecars/grpc';
import { objectOf, plain, quote } from './json.ts';

export interface Sanitizer {
  request(method: string, message: unknown): string;
  response(method: string, message: unknown): string;
  /** By full type name. For an undeclared name, or a value that is not a message, it returns plain JSON. */
  message(type: string, message: unknown): string;
}

const stripped = '"***stripped***"';

type Printer = (message: object) => string;
/** How one field is printed; undefined when it has its default value. */
type FieldPrinter = (value: unknown) => string | undefined;
/** One value of a field: the field itself, an element of a list, a value of a map. */
interface Element {
  readonly print: (value: unknown) => string;
  readonly isDefault: (value: unknown) => boolean;
}

export function createSanitizer(descriptor: Descriptor): Sanitizer {
  const printers = new Map<Descriptor, Printer>();

  function printerOf(scope: Scope): Printer {
    const [type] = scope as readonly [Descriptor];
    const known = printers.get(type);
    if (known) return known;
    const chosen = new Set(Object.values(type.oneofs ?? {}).flatMap(({ oneof }) => oneof));
    const fields: (readonly [string, FieldPrinter])[] = [];
    const printer: Printer = (message) =>
      objectOf(
        fields.flatMap(([name, print]) => {
          const json = print((message as Record<string, unknown>)[name]);
          return json === undefined ? [] : [[name, json] as const];
        }),
      );
    // Registered before its fields are examined, because types may contain themselves.
    printers.set(type, printer);
    for (const [name, field] of Object.entries(type.fields ?? {})) {
      fields.push([name, fieldPrinter(scope, field, chosen.has(name))]);
    }
    return printer;
  }

  function fieldPrinter(scope: Scope, field: FieldDescriptor, inOneof: boolean): FieldPrinter {
    const print = collectionPrinter(field, elementOf(scope, field.type), inOneof);
    if (field.options?.['(csi_secret)'] !== true) return print;
    return (value) => (print(value) === undefined ? undefined : stripped);
  }

  function elementOf(scope: Scope, type: string): Element {
    const found = lookUp(scope, type);
    const values = found?.[0]?.values;
    if (values) return enumElement(values);
    if (!found) return scalarElement(type);
    const nested = printerOf(found);
    // A set message is printed even if it is empty.
    return { print: (value) => (isRecord(value) ? nested(value) : plain(value)), isDefault: () => false };
  }

  const typed = (scope: Scope | undefined, message: unknown): string =>
    scope?.[0]?.fields && isRecord(message) ? printerOf(scope)(message) : plain(message);

  function methodType(method: string, side: 'requestType' | 'responseType'): Scope | undefined {
    const [, service = '', name = ''] = method.split('/');
    const scope = lookUp([descriptor], `.${service}`);
    const type = ownMember(scope?.[0]?.methods, name)?.[side];
    return scope && type !== undefined ? lookUp(scope, type) : undefined;
  }

  return {
    request: (method, message) => typed(methodType(method, 'requestType'), message),
    response: (method, message) => typed(methodType(method, 'responseType'), message),
    message: (type, message) => typed(lookUp([descriptor], `.${type}`), message),
  };
}

function collectionPrinter(field: FieldDescriptor, element: Element, inOneof: boolean): FieldPrinter {
  if (field.keyType !== undefined) {
    return (value) => {
      const entries = isRecord(value) ? Object.entries(value) : [];
      if (entries.length === 0) return undefined;
      return objectOf(entries.map(([key, item]) => [key, element.print(item)]));
    };
  }
  if (field.rule === 'repeated') {
    return (value) =>
      Array.isArray(value) && value.length > 0 ? `[${value.map(element.print).join(',')}]` : undefined;
  }
  return (value) => {
    if (value === undefined || value === null) return undefined;
    return !inOneof && element.isDefault(value) ? undefined : element.print(value);
  };
}

function enumElement(values: Readonly<Record<string, number>>): Element {
  const names = new Map(Object.entries(values).map(([name, number]) => [number, name]));
  return {
    // Decoded values are names already; a number that has no name is printed as it is.
    print: (value) => plain(typeof value === 'number' ? (names.get(value) ?? value) : value),
    isDefault: (value) => value === 0 || value === names.get(0),
  };
}

function scalarElement(type: string): Element {
  if (type.endsWith('64')) {
    return {
      // Digits, not a string, however long.
      print: (value) => (/^-?\d+$/.test(String(value)) ? BigInt(String(value)).toString() : plain(value)),
      isDefault: (value) => /^-?0+$/.test(String(value)),
    };
  }
  if (type === 'bytes') {
    return {
      print: (value) => (value instanceof Uint8Array ? quote(Buffer.from(value).toString('base64')) : plain(value)),
      isDefault: (value) => value instanceof Uint8Array && value.length === 0,
    };
  }
  return { print: plain, isDefault: (value) => value === 0 || value === '' || value === false };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
