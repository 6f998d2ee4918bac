// SPDX-License-Identifier: Apache-2.0
/** TypeScript of custom resources from their definitions. json-schema-to-typescript does it; here its input is made from what Kubernetes adds to JSON Schema. */
import { loadAll } from 'js-yaml';
import type { compile as Compile } from 'json-schema-to-typescript';

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
}

interface Definition {
  readonly kind: 'CustomResourceDefinition';
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly scope: 'Cluster' | 'Namespaced';
    readonly versions: readonly Version[];
  };
}

/** A structural schema, as Kubernetes calls it. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
}

/** In two parts, because it is no import of this file. */
const imports = ['import type { KubeObject, Resource, Wire }', "from '@csi-sidecars/runtime'"].join(' ');

/** One type and one `Resource` for each served version. The version that is stored has the name of the kind. */
export async function typesText(text: string): Promise<string> {
  const definitions = loadAll(text).filter(isDefinition);
  if (definitions.length === 0) throw new Error('the file has no CustomResourceDefinition');
  const parts: string[] = [];
  for (const { spec } of definitions) {
    for (const version of spec.versions.filter(({ served }) => served)) parts.push(await typesOf(spec, version));
  }
  return `// Made by \`csi-runtime types\`.
${imports};

${parts.join('\n')}`;
}

function isDefinition(document: unknown): document is Definition {
  return (document as Partial<Definition> | null)?.kind === 'CustomResourceDefinition';
}

async function typesOf({ group, names, scope }: Definition['spec'], version: Version): Promise<string> {
  const suffix = version.storage ? '' : version.name[0]!.toUpperCase() + version.name.slice(1);
  const type = `${names.kind}${suffix}`;
  const { properties = {}, required = [], ...schema } = version.schema?.openAPIV3Schema ?? {};
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...own } = properties;
  const fields = { ...schema, type: 'object', properties: own, required: required.filter((name) => name in own) };
  const compile = await compiler();
  const options = { bannerComment: '', additionalProperties: false, format: true, style: { singleQuote: true } };
  const resource = { group, version: version.name, plural: names.plural, kind: names.kind };
  // The compiler writes a name in its own way, V1beta1 as V1Beta1: it gets one that it keeps.
  const compiled = await compile(jsonSchemaOf(fields), 'Fields', options);
  return `${compiled.replace(/^export interface Fields\b/m, `export interface ${type}Fields`)}
export type ${type} = KubeObject & Wire<${type}Fields>;
export const ${lowerFirst(names.plural)}${suffix}: Resource<${type}> = {
${Object.entries(resource)
  .map(([name, value]) => `  ${name}: '${value}',`)
  .join('\n')}
  namespaced: ${scope === 'Namespaced'},
};
`;
}

async function compiler(): Promise<typeof Compile> {
  try {
    return (await import('json-schema-to-typescript')).compile;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const remedy = 'install json-schema-to-typescript first: npm install --save-dev json-schema-to-typescript';
    throw new Error(remedy, { cause: error });
  }
}

/** Fields that a schema does not name are removed by the API server, unless it says otherwise. */
function jsonSchemaOf(schema: Schema): object {
  const description = schema.description?.replaceAll('*/', '* /');
  const described = description === undefined ? {} : { description };
  return { ...described, ...nullable(schema, typed(schema)) };
}

function typed(schema: Schema): object {
  if (schema['x-kubernetes-int-or-string'] === true) return { anyOf: [{ type: 'integer' }, { type: 'string' }] };
  if (schema['x-kubernetes-embedded-resource'] === true) return { tsType: 'KubeObject' };
  if (schema.enum !== undefined) return { enum: schema.enum };
  if (schema.items !== undefined) return { type: 'array', items: jsonSchemaOf(schema.items) };
  if (schema.type !== 'object') return schema.type === undefined ? {} : { type: schema.type };
  const { properties, required, additionalProperties } = schema;
  const others = typeof additionalProperties === 'object' ? jsonSchemaOf(additionalProperties) : additionalProperties;
  return {
    type: 'object',
    ...(properties === undefined ? {} : { properties: mapped(properties) }),
    ...(required === undefined ? {} : { required }),
    additionalProperties: others ?? schema['x-kubernetes-preserve-unknown-fields'] === true,
  };
}

function mapped(properties: NonNullable<Schema['properties']>): object {
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, jsonSchemaOf(each)]));
}

function nullable({ nullable: isNullable }: Schema, typedSchema: object): object {
  return isNullable === true ? { anyOf: [typedSchema, { type: 'null' }] } : typedSchema;
}

function lowerFirst(text: string): string {
  return text[0]!.toLowerCase() + text.slice(1);
}
