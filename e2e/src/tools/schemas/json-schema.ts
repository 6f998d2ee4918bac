// SPDX-License-Identifier: Apache-2.0
/** What the two sources of schemas have in common: JSON schemas that refuse every field that they do not name. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** As kubeconform's `{{ .ResourceKind }}{{ .KindSuffix }}.json` asks for it. */
export function fileOf({ group, version, kind }: GroupVersionKind): string {
  const [first = ''] = group.split('.');
  return `${[kind.toLowerCase(), first, version].filter((part) => part !== '').join('-')}.json`;
}

const kept = ['type', 'format', 'enum', 'required', '$ref', 'pattern'] as const;

/** Without descriptions; a field that is not named is an error, unless the API keeps such fields. */
export function strict(schema: Schema): JsonSchema {
  if (schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string') {
    const text = schema.pattern === undefined ? { type: 'string' } : { type: 'string', pattern: schema.pattern };
    return { oneOf: [{ type: 'integer' }, text] };
  }
  const { properties, items, additionalProperties } = schema;
  const own = Object.fromEntries(kept.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key]]));
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    ...own,
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, strict(value)])),
      ...(!isOpen && { additionalProperties: false }),
    }),
    ...(items !== undefined && { items: strict(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'boolean' ? additionalProperties : strict(additionalProperties),
    }),
  };
}

/** The schema of a whole object. */
export function objectSchema(schema: JsonSchema, { group, version, kind }: GroupVersionKind): JsonSchema {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...schema,
    type: 'object',
    required: [...new Set([...((schema['required'] as readonly string[] | undefined) ?? []), 'apiVersion', 'kind'])],
    properties: {
      ...(schema['properties'] as object | undefined),
      apiVersion: { enum: [apiVersion] },
      kind: { enum: [kind] },
    },
    additionalProperties: false,
  };
}
