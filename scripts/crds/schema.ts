// SPDX-License-Identifier: Apache-2.0
/** The words in which the definitions of custom resources are written: short for what OpenAPI says at length. */

export interface Schema {
  readonly description?: string;
  readonly type?: 'array' | 'boolean' | 'integer' | 'object' | 'string';
  readonly [keyword: string]: unknown;
}

/** A rule in CEL that the API server checks. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
}

/** Beside the type. `optional`: the field need not be there; every other is required. */
export interface Extras {
  readonly optional?: true;
  readonly rules?: readonly Rule[];
  readonly [keyword: string]: unknown;
}

export interface Field {
  readonly schema: Schema;
  readonly isRequired: boolean;
}

const field = (
  type: Schema['type'],
  description: string | undefined,
  { optional, rules, ...keywords }: Extras,
): Field => ({
  isRequired: optional === undefined,
  schema: {
    ...(description === undefined ? {} : { description }),
    ...(type === undefined ? {} : { type }),
    ...keywords,
    ...(rules === undefined || rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  },
});

export const string = (description: string | undefined, extras: Extras = {}): Field =>
  field('string', description, extras);
export const boolean = (description: string, extras: Extras = {}): Field => field('boolean', description, extras);
export const integer = (description: string, extras: Extras = {}): Field =>
  field('integer', description, { format: 'int64', ...extras });
export const time = (description: string, extras: Extras = {}): Field =>
  field('string', description, { format: 'date-time', ...extras });
export const list = (description: string, items: Field, extras: Extras = {}): Field =>
  field('array', description, { items: items.schema, ...extras });
export const stringMap = (description: string, extras: Extras = {}): Field =>
  field('object', description, { additionalProperties: { type: 'string' }, ...extras });
export const object = (description: string | undefined, fields: Fields, extras: Extras = {}): Field =>
  field('object', description, { ...propertiesOf(fields), ...extras });

export type Fields = Readonly<Record<string, Field>>;

function propertiesOf(fields: Fields): object {
  const required = Object.keys(fields).filter((name) => fields[name]?.isRequired);
  return {
    properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
    ...(required.length === 0 ? {} : { required }),
  };
}

export const immutable = (message: string): Rule => ({ rule: 'self == oldSelf', message });
export const notEmpty = (name: string): Rule => ({
  rule: 'size(self) > 0',
  message: `${name} must not be the empty string when set`,
});
export const stays = (name: string): Rule => ({
  rule: `!has(oldSelf.${name}) || has(self.${name})`,
  message: `${name} is required once set`,
});
export const exactlyOne = (a: string, b: string): Rule => ({
  rule: `(has(self.${a}) && !has(self.${b})) || (!has(self.${a}) && has(self.${b}))`,
  message: `exactly one of ${a} and ${b} must be set`,
});
