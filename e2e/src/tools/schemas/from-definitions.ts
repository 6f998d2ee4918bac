// SPDX-License-Identifier: Apache-2.0
/** Custom kinds, from the schemas of their definitions. */
import { fileOf, type GroupVersionKind, type JsonSchema, objectSchema, type Schema, strict } from './json-schema.ts';
import { objectMeta, referredTo, type Swagger } from './from-swagger.ts';

export interface CustomKind extends GroupVersionKind {
  readonly schema: Schema;
}

/** The document of Kubernetes has what `metadata` may hold. */
export function fromDefinitions(kinds: readonly CustomKind[], swagger: Swagger): ReadonlyMap<string, JsonSchema> {
  const metadata = { $ref: `#/definitions/${objectMeta}` };
  const definitions = {
    ...referredTo(swagger, [objectMeta]),
    [objectMeta]: strict(swagger.definitions[objectMeta] ?? {}),
  };
  return new Map(
    kinds.map((kind) => {
      const schema = strict(kind.schema);
      const properties = { ...(schema['properties'] as object | undefined), metadata };
      return [fileOf(kind), { ...objectSchema({ ...schema, properties }, kind), definitions }];
    }),
  );
}
