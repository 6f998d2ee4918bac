// SPDX-License-Identifier: Apache-2.0
/**
 * RFC 6902, as the API server applies it: a body that is not a list gets 400, an operation that is invalid or does not apply
 * gets 422.
 */
import { isObject, sameJson, type MutableJson } from './json.ts';
import { badRequest, unprocessablePatch } from './status.ts';

export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch))
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  const root: MutableJson = { '': structuredClone(document) };
  for (const operation of patch as readonly unknown[]) applyOperation(root, operation);
  return root[''];
}

function applyOperation(root: MutableJson, operation: unknown): void {
  if (!isObject(operation) || typeof operation['path'] !== 'string') {
    throw unprocessablePatch();
  }
  const path = operation['path'];
  switch (operation['op']) {
    case 'add':
      return insert(root, path, structuredClone(operation['value']));
    case 'replace':
      read(root, path);
      return put(root, path, structuredClone(operation['value']));
    case 'remove':
      return void take(root, path);
    case 'test':
      // An absent field counts as null.
      if (!sameJson(child(locate(root, path)) ?? null, operation['value'])) throw unprocessablePatch();
      return undefined;
    case 'move':
      return insert(root, path, take(root, String(operation['from'])));
    case 'copy':
      return insert(root, path, structuredClone(read(root, String(operation['from']))));
    default:
      throw unprocessablePatch();
  }
}

interface Place {
  readonly parent: unknown;
  readonly token: string;
}

function locate(root: MutableJson, path: string): Place {
  if (path !== '' && !path.startsWith('/')) throw unprocessablePatch();
  const tokens = path.split('/').map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  let parent: unknown = root;
  for (const token of tokens.slice(0, -1)) {
    parent = child({ parent, token });
    if (typeof parent !== 'object' || parent === null) throw unprocessablePatch();
  }
  return { parent, token: tokens.at(-1) ?? '' };
}

function child(place: Place): unknown {
  if (Array.isArray(place.parent)) return place.parent[indexIn(place.parent, place.token)];
  return isObject(place.parent) ? place.parent[place.token] : undefined;
}

function indexIn(list: readonly unknown[], token: string): number {
  const index = Number(token);
  if (!/^\d+$/.test(token) || index >= list.length) throw unprocessablePatch();
  return index;
}

function read(root: MutableJson, path: string): unknown {
  const found = child(locate(root, path));
  if (found === undefined) throw unprocessablePatch();
  return found;
}

function put(root: MutableJson, path: string, value: unknown): void {
  const { parent, token } = locate(root, path);
  if (Array.isArray(parent)) parent[indexIn(parent, token)] = value;
  else (parent as MutableJson)[token] = value;
}

function insert(root: MutableJson, path: string, value: unknown): void {
  const { parent, token } = locate(root, path);
  if (!Array.isArray(parent)) return void ((parent as MutableJson)[token] = value);
  const index = token === '-' ? parent.length : Number(token);
  if (!Number.isInteger(index) || index < 0 || index > parent.length) throw unprocessablePatch();
  parent.splice(index, 0, value);
}

function take(root: MutableJson, path: string): unknown {
  const value = read(root, path);
  const { parent, token } = locate(root, path);
  if (Array.isArray(parent)) parent.splice(indexIn(parent, token), 1);
  else delete (parent as MutableJson)[token];
  return value;
}
