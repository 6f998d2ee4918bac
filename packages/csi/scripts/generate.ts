// SPDX-License-Identifier: Apache-2.0
/**
 * Turns proto/ into src/gen/: per file a JSON descriptor (what the running program loads, so that a bundle needs no
 * .proto file) and the TypeScript types of its messages. Same input, same bytes: CI runs this and compares.
 */
// The first step of the loader's `loadSync`. The public function then makes services of the result, which drop our options.
import { addCommonProtos, loadProtosWithOptionsSync } from '@grpc/proto-loader/build/src/util.js';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import type { INamespace } from 'protobufjs';
import { emitTypes } from './emit-types.ts';

const files = [
  { proto: 'csi/v1/csi.proto', output: 'csi', methods: 'Methods' },
  { proto: 'pluginregistration/v1/api.proto', output: 'plugin-registration', methods: 'RegistrationMethods' },
  { proto: 'snapshotmetadata/schema.proto', output: 'snapshot-metadata', methods: 'PublicMetadataMethods' },
] as const;

const protoRoot = fileURLToPath(new URL('../../../proto/', import.meta.url));
const outputRoot = fileURLToPath(new URL('../src/gen/', import.meta.url));

// With google/protobuf/descriptor.proto, which the declarations import for their options.
addCommonProtos();
mkdirSync(outputRoot, { recursive: true });
for (const { proto, output, methods } of files) {
  const root = loadProtosWithOptionsSync(proto, { keepCase: true, includeDirs: [protoRoot] });
  root.resolveAll();
  const descriptor = prune(root.toJSON());
  writeDescriptor(output, descriptor);
  if (output === 'csi') writeDescriptor('identity', reachable(descriptor, 'csi.v1.Identity'));
  writeFileSync(`${outputRoot}${output}.ts`, emitTypes(root, { proto, methods }));
}

function writeDescriptor(output: string, descriptor: INamespace): void {
  writeFileSync(`${outputRoot}${output}.json`, `${JSON.stringify(descriptor, undefined, 1)}\n`);
}

/** One service and the messages it needs: for programs that must stay small. */
function reachable(descriptor: INamespace, service: string): INamespace {
  const root = protobuf.Root.fromJSON(descriptor);
  const keep = new Set<object>();
  const add = (found: protobuf.ReflectionObject): void => {
    for (let each: protobuf.ReflectionObject | null = found; each !== null; each = each.parent) keep.add(each);
  };
  const addType = (type: protobuf.Type): void => {
    if (keep.has(type)) return;
    add(type);
    for (const field of type.fieldsArray) {
      const { resolvedType } = field;
      if (resolvedType instanceof protobuf.Type) addType(resolvedType);
      else if (resolvedType !== null) add(resolvedType);
    }
  };
  root.resolveAll();
  const found = root.lookupService(service);
  add(found);
  for (const method of found.methodsArray) {
    for (const type of [method.resolvedRequestType, method.resolvedResponseType]) if (type !== null) addType(type);
  }
  const select = (namespace: protobuf.NamespaceBase, json: INamespace): INamespace => {
    const nested = namespace.nestedArray.flatMap((child) => {
      const childJson = json.nested?.[child.name];
      if (!keep.has(child) || childJson === undefined) return [];
      const inner = child instanceof protobuf.Namespace ? select(child, childJson) : childJson;
      return [[child.name, inner] as const];
    });
    return { ...json, ...(nested.length === 0 ? {} : { nested: Object.fromEntries(nested) }) };
  };
  return select(root, descriptor);
}

/** Leaves out what only the compiler needs: the declarations of options and unused well-known types. */
function prune(root: INamespace): INamespace {
  const used = new Set(JSON.stringify(root).match(/google\.protobuf\.\w+/g));
  const visit = (namespace: INamespace, path: string): INamespace => {
    const nested = Object.entries(namespace.nested ?? {}).flatMap(([name, child]) => {
      const full = path === '' ? name : `${path}.${name}`;
      const wellKnown = path === 'google.protobuf';
      if ('extend' in child || (wellKnown && (!used.has(full) || full.endsWith('Options')))) return [];
      return [[name, 'nested' in child ? visit(child, full) : child] as const];
    });
    return { ...namespace, nested: Object.fromEntries(nested) };
  };
  return visit(root, '');
}
