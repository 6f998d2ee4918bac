// SPDX-License-Identifier: Apache-2.0
/**
 * The JSON patch (RFC 6902) from one value to another, both as JSON was read. Fields of objects are compared one by one; a list that differs is
 * replaced as a whole, which is valid, and needs none of the libraries for this.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation } from '../api/client.ts';
import { isObject } from './read-review.ts';

/** Empty: they are equal. */
export function jsonPatch(before: unknown, after: unknown, path = ''): readonly JsonPatchOperation[] {
  if (!isObject(before) || !isObject(after)) {
    return isDeepStrictEqual(before, after) ? [] : [{ op: 'replace', path, value: after }];
  }
  const at = (field: string): string => `${path}/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const removed = Object.keys(before).filter((field) => !Object.hasOwn(after, field));
  return [
    ...removed.map((field) => ({ op: 'remove', path: at(field) }) as const),
    ...Object.entries(after).flatMap(([field, value]): readonly JsonPatchOperation[] =>
      Object.hasOwn(before, field)
        ? jsonPatch(before[field], value, at(field))
        : [{ op: 'add', path: at(field), value }],
    ),
  ];
}
