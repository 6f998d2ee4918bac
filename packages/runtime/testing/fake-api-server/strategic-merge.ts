// SPDX-License-Identifier: Apache-2.0
/**
 * Strategic merge patch: a merge patch that knows which lists are keyed or sets (`list-types.ts`).
 *
 * Directives: `$patch` (replace, delete, merge) in objects and list elements, `$retainKeys`,
 * `$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`.
 */
import { copyJson, isObject, sameJson, type JsonObject, type MutableJson } from './json.ts';
import { mergeKeys, setLists } from './list-types.ts';
import { badRequest, internal } from './status.ts';

export function applyStrategicMerge(document: JsonObject, patch: JsonObject): JsonObject {
  return mergeObject(document, patch);
}

function mergeObject(original: JsonObject, patch: JsonObject): JsonObject {
  const directive = patch['$patch'];
  if (directive === 'replace') return copyJson(withoutDirectives(patch));
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge')
    throw badRequest(`unknown patch type: ${JSON.stringify(directive)}`);
  for (const [field, value] of Object.entries(patch)) refuseOtherOrder(patch, field, value);
  const merged: MutableJson = { ...original };
  for (const [field, value] of Object.entries(withoutDirectives(patch))) {
    if (value === null) delete merged[field];
    else if (isObject(value)) mergeChild(merged, field, value);
    else if (Array.isArray(value)) merged[field] = mergeList(field, merged[field], value);
    else merged[field] = value;
  }
  for (const [field, value] of Object.entries(patch)) applyListDirective(merged, field, value);
  const retained = patch['$retainKeys'];
  if (Array.isArray(retained)) {
    for (const field of Object.keys(merged)) if (!retained.includes(field)) delete merged[field];
  }
  return merged;
}

function mergeChild(merged: MutableJson, field: string, patch: JsonObject): void {
  const current = merged[field];
  merged[field] = mergeObject(isObject(current) ? current : {}, patch);
}

function mergeList(field: string, original: unknown, patch: readonly unknown[]): readonly unknown[] {
  const current: readonly unknown[] = Array.isArray(original) ? original : [];
  // There is nothing to merge with: the list is taken as it is.
  if (original === undefined)
    return copyJson(patch.filter((item) => !(isObject(item) && item['$patch'] !== undefined)));
  if (setLists.has(field)) return [...current, ...patch.filter((item) => !current.includes(item))];
  const key = mergeKeys[field];
  if (key === undefined) return copyJson(patch);
  if (patch.some((item) => isObject(item) && item['$patch'] === 'replace')) {
    return patch.filter((item) => !(isObject(item) && item['$patch'] === 'replace'));
  }
  return patch.reduce<readonly unknown[]>((list, item) => mergeElement(list, item, key), current);
}

function mergeElement(list: readonly unknown[], item: unknown, key: string): readonly unknown[] {
  if (!isObject(item) || item[key] === undefined) {
    throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
  }
  const matches = (element: unknown): boolean => isObject(element) && sameJson(element[key], item[key]);
  if (item['$patch'] === 'delete') return list.filter((element) => !matches(element));
  if (!list.some(matches)) return [...list, mergeObject({}, item)];
  return list.map((element) => (matches(element) ? mergeObject(element as JsonObject, item) : element));
}

function applyListDirective(merged: MutableJson, directive: string, value: unknown): void {
  const [name, field] = directive.split('/');
  if (field === undefined || !Array.isArray(value)) return;
  const current = merged[field];
  if (!Array.isArray(current)) return;
  if (name === '$deleteFromPrimitiveList') merged[field] = current.filter((item) => !value.includes(item));
  if (name === '$setElementOrder') merged[field] = inOrder(current, value, mergeKeys[field]);
}

/** The elements of the patch have to come in the order that the patch itself names; elements that it deletes do not count. */
function refuseOtherOrder(patch: JsonObject, directive: string, order: unknown): void {
  const [name, field = ''] = directive.split('/');
  const list = patch[field];
  if (name !== '$setElementOrder' || !Array.isArray(order) || !Array.isArray(list) || order.length === 0) return;
  const key = mergeKeys[field];
  const identity = (item: unknown): unknown => (key !== undefined && isObject(item) ? item[key] : item);
  const left: unknown[] = list.filter((item) => !(isObject(item) && item['$patch'] !== undefined)).map(identity);
  for (const item of order) if (left.length > 0 && sameJson(identity(item), left[0])) left.shift();
  if (left.length === 0) return;
  throw internal(`The order in patch list:\n${stringify(list)}\n doesn't match ${name} list:\n${stringify(order)}\n`);
}

const stringify = (value: unknown): string => JSON.stringify(value);

/** Elements named by `order` come in that order, after the ones that only the server knows. */
function inOrder(list: readonly unknown[], order: readonly unknown[], key: string | undefined): readonly unknown[] {
  const identity = (item: unknown): unknown => (key !== undefined && isObject(item) ? item[key] : item);
  const wanted = order.map(identity);
  const ranked = (item: unknown): number => wanted.findIndex((id) => sameJson(id, identity(item)));
  return list.toSorted((a, b) => ranked(a) - ranked(b));
}

function withoutDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([field]) => !field.startsWith('$')));
}
