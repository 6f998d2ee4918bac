// SPDX-License-Identifier: Apache-2.0
/** Messages in which every field is set, and every text is marked: for tests that look for what must not leave the process. */
import protobuf from 'protobufjs';
import csiDescriptor from '../src/gen/csi.json' with { type: 'json' };
import type { Method } from '../src/methods.ts';
import { methodsOf } from './any-message.ts';

export interface MarkedMethod {
  readonly path: Method;
  readonly request: () => protobuf.Type;
  readonly response: () => protobuf.Type;
}

/** The unary methods of a service of CSI. */
export function methodsOfService(service: string): readonly MarkedMethod[] {
  const root = protobuf.Root.fromJSON(csiDescriptor as protobuf.INamespace);
  root.resolveAll();
  return methodsOf(root)
    .filter(({ path, method }) => path.startsWith(`/csi.v1.${service}/`) && method.responseStream !== true)
    .map(({ path, method }) => ({
      path: path as Method,
      request: () => root.lookupType(method.requestType),
      response: () => root.lookupType(method.responseType),
    }));
}

export interface Marks {
  /** The text of a field; its name is that of the declaration. */
  readonly text: (field: string) => string;
  /** Which member of a oneof is set. */
  readonly member: (count: number) => number;
}

export function markedMessage(type: protobuf.Type, marks: Marks, depth = 0): object {
  // Messages that hold themselves end somewhere.
  if (depth > 6) return {};
  const free = type.fieldsArray.filter((field) => field.partOf === null);
  const members = type.oneofsArray.map(({ fieldsArray }) => fieldsArray[marks.member(fieldsArray.length)]!);
  return Object.fromEntries([...free, ...members].map((field) => [field.name, markedField(field, marks, depth)]));
}

function markedField(field: protobuf.Field, marks: Marks, depth: number): unknown {
  const value = markedValue(field, marks, depth);
  if (field.map) return { [marks.text(field.name)]: value };
  return field.repeated ? [value, value] : value;
}

function markedValue({ name, resolvedType, type }: protobuf.Field, marks: Marks, depth: number): unknown {
  if (resolvedType instanceof protobuf.Enum) return Object.keys(resolvedType.values).at(-1);
  if (resolvedType instanceof protobuf.Type) return markedMessage(resolvedType, marks, depth + 1);
  if (type === 'bool') return true;
  if (type === 'string') return marks.text(name);
  return type === 'int32' ? 1 : '1';
}
