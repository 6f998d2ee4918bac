// SPDX-License-Identifier: Apache-2.0
/** The kinds of Kubernetes itself, from the OpenAPI document of its repository. */
import { fileOf, type GroupVersionKind, type JsonSchema, objectSchema, type Schema, strict } from './json-schema.ts';

export interface Swagger {
  readonly definitions: Readonly<
    Record<string, Schema & { readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[] }>
  >;
}

const prefix = '#/definitions/';
export const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** A number is a quantity too; the document calls it a string. */
const exceptions: Readonly<Record<string, JsonSchema>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
};

/** Names of files to schemas. Each stands alone: what it refers to is in it. */
export function fromSwagger(swagger: Swagger): ReadonlyMap<string, JsonSchema> {
  const files = new Map<string, JsonSchema>();
  for (const [name, definition] of Object.entries(swagger.definitions)) {
    const kinds = definition['x-kubernetes-group-version-kind'] ?? [];
    const [kind] = kinds;
    // Those of many kinds are options and answers, not objects.
    if (kind === undefined || kinds.length > 1) continue;
    const schema = objectSchema(strict(definition), kind);
    files.set(fileOf(kind), { ...schema, definitions: referredTo(swagger, [name]) });
  }
  return files;
}

/** Everything that these definitions refer to, without themselves unless they refer to themselves. */
export function referredTo({ definitions }: Swagger, names: readonly string[]): Readonly<Record<string, JsonSchema>> {
  const found: Record<string, JsonSchema> = {};
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return;
    for (const [key, value] of Object.entries(schema)) {
      if (key !== '$ref' || typeof value !== 'string') {
        visit(value);
        continue;
      }
      const name = value.slice(prefix.length);
      if (found[name] !== undefined) continue;
      const definition = definitions[name];
      if (definition === undefined) throw new Error(`${value} is not defined`);
      found[name] = exceptions[name] ?? strict(definition);
      visit(found[name]);
    }
  };
  for (const name of names) visit(strict(definitions[name] ?? {}));
  return found;
}
