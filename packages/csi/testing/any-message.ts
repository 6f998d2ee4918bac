// SPDX-License-Identifier: Apache-2.0
/** Arbitrary messages of a declared type for property tests: a field is absent, null or set, and at most one member of a oneof is set. */
import * as fc from 'fast-check';
import protobuf from 'protobufjs';

export interface DeclaredMethod {
  /** Full name: `/package.Service/Method`. */
  readonly path: string;
  readonly method: protobuf.Method;
}

export function methodsOf(root: protobuf.Root): readonly DeclaredMethod[] {
  return root.nestedArray
    .flatMap(servicesOf)
    .flatMap((service) =>
      service.methodsArray.map((method) => ({ path: `/${service.fullName.slice(1)}/${method.name}`, method })),
    );
}

function servicesOf(each: protobuf.ReflectionObject): protobuf.Service[] {
  if (each instanceof protobuf.Service) return [each];
  return each instanceof protobuf.Namespace ? each.nestedArray.flatMap(servicesOf) : [];
}

export function anyMessage(type: protobuf.Type): fc.Arbitrary<object> {
  const free = type.fieldsArray.filter((field) => field.partOf === null);
  const fields = fc.record(Object.fromEntries(free.map((field) => [field.name, fc.option(fieldOf(field))])), {
    requiredKeys: [],
  });
  const members = type.oneofsArray.map(({ fieldsArray }) =>
    fc.oneof(fc.constant({}), ...fieldsArray.map((field) => fieldOf(field).map((value) => ({ [field.name]: value })))),
  );
  return fc.tuple(fields, ...members).map((parts) => Object.assign({}, ...parts) as object);
}

function fieldOf(field: protobuf.Field): fc.Arbitrary<unknown> {
  const value = valueOf(field);
  if (field.map) return fc.dictionary(fc.string({ unit: 'grapheme' }), value, { maxKeys: 4 });
  return field.repeated ? fc.array(value, { maxLength: 4 }) : value;
}

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const edges = fc.constantFrom('0', '-1', '9007199254740991', '9007199254740993', '9223372036854775807');

function valueOf({ resolvedType, type }: protobuf.Field): fc.Arbitrary<unknown> {
  if (resolvedType instanceof protobuf.Enum) {
    return fc.oneof(fc.constantFrom(...Object.keys(resolvedType.values)), fc.constantFrom(999, -1));
  }
  if (resolvedType instanceof protobuf.Type) return anyMessage(resolvedType);
  if (type === 'bool') return fc.boolean();
  if (type === 'int32') return fc.integer();
  if (type === 'int64') return fc.oneof(int64, edges, fc.maxSafeInteger());
  // Long enough for lengths of one, two and three bytes.
  return fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.nat(20_000).map((length) => 'ä'.repeat(length)),
  );
}
