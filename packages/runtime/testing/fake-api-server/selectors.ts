// SPDX-License-Identifier: Apache-2.0
/** Label and field selectors of lists and watches, in the grammar of the API server. */
import { at } from './json.ts';
import { badRequest } from './status.ts';
import type { StoredObject } from './store.ts';

export type Predicate = (object: StoredObject) => boolean;

const setExpression = /^([^\s,()=!]+)\s+(in|notin)\s*\(([^)]*)\)$/;
const comparison = /^([^\s,()=!]+)\s*(==|=|!=)\s*([^\s,()=!]*)$/;

export function labelSelector(text: string): Predicate {
  const wanted = splitRequirements(text).map((term) => labelRequirement(term, text));
  return (object) => wanted.every((matches) => matches(object.metadata.labels ?? {}));
}

type LabelMatch = (labels: { readonly [key: string]: string }) => boolean;

function labelRequirement(term: string, whole: string): LabelMatch {
  const set = setExpression.exec(term);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return operator === 'in'
      ? (labels) => labels[key] !== undefined && values.has(labels[key])
      : (labels) => labels[key] === undefined || !values.has(labels[key]);
  }
  const compared = comparison.exec(term);
  if (compared !== null) {
    const [, key = '', operator, value = ''] = compared;
    return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  const absent = term.startsWith('!');
  const key = (absent ? term.slice(1) : term).trim();
  if (key === '' || /[\s=!()]/.test(key))
    throw badRequest(`unable to parse requirement: found '${whole}', expected: in, notin, =, ==, !=, gt, lt`);
  return (labels) => (labels[key] === undefined) === absent;
}

/** `fields` are the paths this kind can be selected by, beside metadata.name and metadata.namespace. */
export function fieldSelector(text: string, fields: readonly string[]): Predicate {
  const wanted = splitRequirements(text).map((term) => {
    const compared = /^([^=!]+)(==|=|!=)(.*)$/.exec(term);
    if (compared === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator, value = ''] = compared;
    if (!['metadata.name', 'metadata.namespace', ...fields].includes(field)) {
      throw badRequest(
        fields.length > 0
          ? `field label not supported: ${field}`
          : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
      );
    }
    const path = field.split('.');
    const equal = operator !== '!=';
    return (object: StoredObject) => (fieldText(at(object, ...path)) === value) === equal;
  });
  return (object) => wanted.every((matches) => matches(object));
}

function fieldText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number' ? String(value) : '';
}

/** Splits at commas outside parentheses. */
function splitRequirements(text: string): readonly string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}
