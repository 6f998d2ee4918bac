// SPDX-License-Identifier: Apache-2.0
/** Create: a free name, an identity, the initial status, defaults, admission, validation, in the order of the server. */
import { alreadyExists, internal, invalid } from './status.ts';
import {
  assemble,
  collectionOf,
  decodeObject,
  isDryRun,
  timestamp,
  withStatus,
  type Target,
  type WriteDeps,
} from './write-request.ts';
import { at, type JsonObject } from './json.ts';
import { keyOf, type StoredMeta, type StoredObject } from './store.ts';
import { metadataCauses } from './names.ts';
import type { Random } from '../../src/clock/random.ts';

const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const longestGeneratedBase = 63 - suffixLength;

export function create(deps: WriteDeps, target: Target, body: unknown): StoredObject {
  const { type, route } = target;
  const decoded = decodeObject(target, body);
  const asked = at(decoded, 'metadata', 'resourceVersion');
  if (asked !== undefined && asked !== '') throw internal('resourceVersion should not be set on objects to be created');
  const name = freeName(deps, target, decoded);
  const now = timestamp(deps.clock);
  const identity = { name, uid: deps.random.uuid(), creationTimestamp: now, resourceVersion: '' };
  const {
    deletionTimestamp: _d,
    deletionGracePeriodSeconds: _g,
    ...metadata
  } = (decoded['metadata'] ?? {}) as StoredMeta;
  const generation = type.generation === true ? { generation: 1 } : {};
  let object = assemble(target, { ...decoded, metadata }, { ...identity, ...generation });
  const status = type.initialStatus?.(now);
  if (status !== undefined) object = { ...object, status };
  else if (type.custom === true && type.status !== 'absent') object = withStatus(object, undefined);
  object = type.defaults?.(object) ?? object;
  const request = { operation: 'create', type, subresource: undefined, previous: undefined } as const;
  object = deps.mutate({ ...request, object });
  const causes = [...metadataCauses(type, object), ...(type.validate?.(object) ?? [])];
  if (causes.length > 0) throw invalid(type, name, causes);
  deps.validate({ ...request, object });
  const key = keyOf(object.metadata.namespace, name);
  if (collectionOf(deps, type).get(key) !== undefined) throw alreadyExists(type, name);
  if (isDryRun(route)) return object;
  const stored = collectionOf(deps, type).put(key, object);
  type.stored?.(stored);
  return stored;
}

function freeName(deps: WriteDeps, target: Target, body: JsonObject): string {
  const name = at(body, 'metadata', 'name');
  if (typeof name === 'string' && name !== '') return name;
  const base = at(body, 'metadata', 'generateName');
  if (typeof base !== 'string' || base === '') return '';
  const { type, route } = target;
  let candidate = '';
  // The server itself tries again when the random suffix is taken.
  for (let attempt = 0; attempt < 8; attempt += 1) {
    candidate = base.slice(0, longestGeneratedBase) + suffix(deps.random);
    if (collectionOf(deps, type).get(keyOf(type.namespaced ? route.namespace : undefined, candidate)) === undefined)
      break;
  }
  return candidate;
}

function suffix(random: Random): string {
  let text = '';
  while (text.length < suffixLength) text += suffixLetters[Math.floor(random.next() * suffixLetters.length)];
  return text;
}
