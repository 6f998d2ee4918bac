// SPDX-License-Identifier: Apache-2.0
/** The part of the API server's selections that watches use: a namespace, and equality of labels and fields. */
import type { Selection } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';

/** Throws for a selector that is more than `a=b,c!=d`: an answer that ignores a part of it would be wrong. */
export function isSelected(object: KubeObject, { namespace = '', labelSelector, fieldSelector }: Selection): boolean {
  if (namespace !== '' && namespace !== object.metadata?.namespace) return false;
  const labels = object.metadata?.labels ?? {};
  const labelOf = (name: string): string | undefined => (Object.hasOwn(labels, name) ? labels[name] : undefined);
  return (
    termsOf(labelSelector).every(({ name, value, isEqual }) => (labelOf(name) === value) === isEqual) &&
    termsOf(fieldSelector).every(({ name, value, isEqual }) => (fieldOf(object, name) === value) === isEqual)
  );
}

interface Term {
  readonly name: string;
  readonly value: string;
  readonly isEqual: boolean;
}

function termsOf(selector = ''): readonly Term[] {
  return selector
    .split(',')
    .filter((term) => term !== '')
    .map((term) => {
      const [, name, operator, value] = /^([^=!\s()]+)(=|==|!=)([^=!\s()]*)$/.exec(term) ?? [];
      if (name === undefined || value === undefined) throw new Error(`a dry run cannot select by "${selector}"`);
      return { name, value, isEqual: operator !== '!=' };
    });
}

/** As the API server, for which an absent field is an empty one. */
function fieldOf(object: KubeObject, path: string): string {
  const found = path
    .split('.')
    .reduce<unknown>((part, name) => (part as Readonly<Record<string, unknown>> | undefined)?.[name], object);
  if (found === undefined) return '';
  return typeof found === 'string' ? found : JSON.stringify(found);
}
