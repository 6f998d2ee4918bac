// SPDX-License-Identifier: Apache-2.0
/** values.schema.json and the list of values, from a values.yaml and its comments. */
import { load } from 'js-yaml';
import { commentsOf, type KeyComment } from './comments.ts';
import { definitions } from './definitions.ts';

export type Schema = Readonly<Record<string, unknown>>;
type Values = Readonly<Record<string, unknown>>;

interface Source {
  readonly values: Values;
  readonly comments: ReadonlyMap<string, KeyComment>;
}

/** Draft-07, which every Helm 3 and 4 understands. */
export function schemaOf(valuesText: string, title: string): Schema {
  const source = sourceOf(valuesText);
  const properties = propertiesOf(source, source.values, '');
  const needed = neededKeys(source.values, properties);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title,
    type: 'object',
    additionalProperties: false,
    required: needed,
    properties: {
      // Set by a parent chart.
      enabled: { type: ['boolean', 'null'] },
      ...properties,
      global: { ...(properties['global'] as Schema | undefined), type: 'object', additionalProperties: true },
    },
    definitions: usedDefinitions(properties),
  };
}

/**
 * An entry for each key that has a description, and one for those that have both description and default in common. A list, because a
 * column of paths and defaults would leave no room for their meaning.
 */
export function valuesList(valuesText: string): string {
  const { values, comments } = sourceOf(valuesText);
  const entries = new Map<string, string[]>();
  const visit = (at: Values, prefix: string): void => {
    for (const [key, value] of Object.entries(at)) {
      const path = prefix === '' ? key : `${prefix}.${key}`;
      const { description = '' } = comments.get(path) ?? {};
      if (description !== '') {
        const end = `: \`${JSON.stringify(value)}\`. ${description}`;
        entries.set(end, [...(entries.get(end) ?? []), `\`${path}\``]);
      } else if (isMap(value)) {
        visit(value, path);
      }
    }
  };
  visit(values, '');
  return [...entries].map(([end, paths]) => `- ${paths.join(', ')}${end}\n`).join('');
}

function sourceOf(text: string): Source {
  return { values: load(text) as Values, comments: commentsOf(text) };
}

function propertiesOf(source: Source, at: Values, prefix: string): Values {
  return Object.fromEntries(
    Object.entries(at).map(([key, value]) => {
      const path = prefix === '' ? key : `${prefix}.${key}`;
      return [key, schemaAt(source, path, value)];
    }),
  );
}

function schemaAt(source: Source, path: string, value: unknown): Schema {
  const { description = '', schema = {}, like } = source.comments.get(path) ?? {};
  // Draft-07 ignores what stands beside a reference.
  if ('$ref' in schema) return schema;
  const described = description === '' ? {} : { description: description.replaceAll('`', '') };
  if (!isMap(value) || isOpen(value, schema)) return { ...described, ...inferred(value), ...schema };
  const own = propertiesOf(source, value, path);
  const properties = { ...(like !== undefined && borrowed(source, path, like)), ...own };
  const required = neededKeys(value, own);
  return {
    ...described,
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    properties,
    ...schema,
  };
}

/** For these, nothing is the same as the default, and templates read it so. */
const emptyDefaults: ReadonlySet<unknown> = new Set([null, '', false, 0]);

/**
 * Keys that a user may not set to null, with which Helm removes the default: a template would read 0 replicas, or a feature that is off. A
 * list and a map of the user's may go; they are empty then.
 */
function neededKeys(at: Values, properties: Values): readonly string[] {
  return Object.keys(at).filter((key) => {
    const value = at[key];
    const schema = properties[key] as Schema;
    if (isMap(value)) return 'properties' in schema && schema['additionalProperties'] === false;
    if (Array.isArray(value)) return 'minItems' in schema;
    return !emptyDefaults.has(value) && !acceptsNull(schema);
  });
}

function acceptsNull(schema: Schema): boolean {
  const name = /^#\/definitions\/(\w+)$/.exec(String(schema['$ref']))?.[1];
  const { type, enum: members } = (name === undefined ? schema : definitions[name]) as {
    readonly type?: unknown;
    readonly enum?: readonly unknown[];
  };
  return members?.includes(null) === true || [type].flat().includes('null');
}

/** The keys of another path, in the order of the file. */
function borrowed(source: Source, path: string, like: NonNullable<KeyComment['like']>): Values {
  const target = like.path.split('.').reduce<unknown>((at, key) => (at as Values | undefined)?.[key], source.values);
  if (!isMap(target)) throw new Error(`${path}: @like ${like.path} is not a map`);
  const keys = Object.keys(target);
  const last = like.until === undefined ? keys.length - 1 : keys.indexOf(like.until);
  if (last < 0) throw new Error(`${path}: @like ${like.path} has no key ${like.until}`);
  const taken = Object.fromEntries(keys.slice(0, last + 1).map((key) => [key, target[key]]));
  return propertiesOf(source, taken, like.path);
}

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A map whose keys are the user's: empty by default, or described by the comment. */
function isOpen(value: Values, schema: Schema): boolean {
  return Object.keys(value).length === 0 || 'additionalProperties' in schema || schema['type'] === 'object';
}

function inferred(value: unknown): Schema {
  if (Array.isArray(value)) return { type: 'array' };
  if (isMap(value)) return { type: 'object' };
  if (Number.isInteger(value)) return { type: 'integer' };
  if (value === null) return {};
  return { type: typeof value };
}

function usedDefinitions(properties: Values): Values {
  const used = new Set<string>();
  const visit = (text: string): void => {
    for (const [, name = ''] of text.matchAll(/"#\/definitions\/(\w+)"/g)) {
      const definition = definitions[name];
      if (definition === undefined) throw new Error(`there is no definition ${name}`);
      if (used.has(name)) continue;
      used.add(name);
      visit(JSON.stringify(definition));
    }
  };
  visit(JSON.stringify(properties));
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => used.has(name)));
}
