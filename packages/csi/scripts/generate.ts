// SPDX-License-Identifier: Apache-2.0
/**
 * Turns proto/ into src/gen/: per file a JSON descriptor (what the running program loads, so that a bundle needs no
 * .proto file) and the TypeScript types of its messages. Same input, same bytes: CI runs this and compares.
 */
// Registers google/protobuf/descriptor.proto, which the declarations import for their options.
import '@grpc/proto-loader';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import type { INamespace } from 'protobufjs';
import { emitTypes } from './emit-types.ts';

const files = [
  { proto: 'csi/v1/csi.proto', output: 'csi', methods: 'Methods' },
  { proto: 'pluginregistration/v1/api.proto', output: 'plugin-registration', methods: 'RegistrationMethods' },
] as const;

const protoRoot = fileURLToPath(new URL('../../../proto/', import.meta.url));
const outputRoot = fileURLToPath(new URL('../src/gen/', import.meta.url));

mkdirSync(outputRoot, { recursive: true });
for (const { proto, output, methods } of files) {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target): string => (target.startsWith('/') ? target : protoRoot + target);
  root.loadSync(proto, { keepCase: true });
  root.resolveAll();
  writeFileSync(`${outputRoot}${output}.json`, `${JSON.stringify(prune(root.toJSON()), undefined, 1)}\n`);
  writeFileSync(`${outputRoot}${output}.ts`, emitTypes(root, { proto, methods }));
}

/** Leaves out what only the compiler needs: the declarations of options and the well-known types nobody refers to. */
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
