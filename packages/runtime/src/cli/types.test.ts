// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { typesText } from './types.ts';

const example = join(import.meta.dirname, '../../example');
const read = (name: string): string => readFileSync(join(example, name), 'utf8');

/** The text of a definition whose spec has these properties: JSON, which YAML includes. */
function definition(properties: object, more: object = {}): string {
  const schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }];
  const names = { kind: 'Widget', plural: 'widgets' };
  const spec = { group: 'test.io', scope: 'Cluster', names, versions, ...more };
  return JSON.stringify({ kind: 'CustomResourceDefinition', spec });
}

/** The type of the one property of the spec. */
async function typeOf(schema: object): Promise<string | undefined> {
  const text = await typesText(definition({ field: schema }));
  return /field\?: ([^]*?);\n {2}\};\n\}/.exec(text)?.[1]?.replaceAll(/\s+/g, ' ');
}

it('given the definition of the example, then its types are those beside it', async () => {
  expect(await typesText(read('websites.crd.yaml'))).toBe(read('websites.types.ts'));
});

it.each([
  [{ type: 'string' }, 'string'],
  [{ type: 'integer', nullable: true }, 'number | null'],
  [{ type: 'string', enum: ['a', 'b'] }, "'a' | 'b'"],
  [{ 'x-kubernetes-int-or-string': true }, 'number | string'],
  [{ type: 'object', 'x-kubernetes-embedded-resource': true }, 'KubeObject'],
  [{ type: 'array', items: { type: 'boolean' } }, 'boolean[]'],
  [{ type: 'object', additionalProperties: { type: 'integer' } }, '{ [k: string]: number; }'],
  [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, '{ a: string; }'],
  [
    { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-preserve-unknown-fields': true },
    '{ a?: string; [k: string]: unknown; }',
  ],
  [{}, 'unknown'],
])('given the schema %j, then its type is %s', async (schema, type) => {
  expect(await typeOf(schema)).toBe(type);
});

it('given a description that ends a comment, then the comment goes on', async () => {
  const text = await typesText(definition({ field: { type: 'string', description: 'of */ this' } }));
  expect(text).toContain('of * / this');
});

it('given versions, then those that are served have types, and the one that is stored has the name of the kind', async () => {
  const version = (name: string, more: object) => ({ name, served: true, storage: false, ...more });
  const versions = [version('v1', { storage: true }), version('v1beta1', {}), version('v1alpha1', { served: false })];
  const text = await typesText(definition({}, { versions }));
  expect([...text.matchAll(/export (?:type|const) (\S+?)[ :]/g)].map((found) => found[1])).toEqual([
    'Widget',
    'widgets',
    'WidgetV1beta1',
    'widgetsV1beta1',
  ]);
  expect(text).toContain("version: 'v1beta1',\n  plural: 'widgets',\n  kind: 'Widget',\n  namespaced: false,");
});

it.each([
  ['Widget', ['v1', 'v1beta1']],
  ['Widget', ['v1beta1', 'v1alpha2']],
  ['S3bucket', ['v1', 'v2']],
])('given the kind %s in the versions %j, then the fields of each type are declared', async (kind, [stored, other]) => {
  const versions = [
    { name: stored, served: true, storage: true },
    { name: other, served: true, storage: false },
  ];
  const text = await typesText(definition({}, { versions, names: { kind, plural: 'widgets' } }));
  const namesAfter = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name);
  const used = namesAfter(/Wire<(\w+)>/g);
  expect(used).toHaveLength(2);
  expect(namesAfter(/^export interface (\w+) /gm)).toEqual(used);
});

it.each(['', '---\n', 'kind: ConfigMap'])('given the file %j, then it has no definition', async (text) => {
  await expect(typesText(text)).rejects.toThrow('the file has no CustomResourceDefinition');
});
