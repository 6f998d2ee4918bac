// SPDX-License-Identifier: Apache-2.0
/**
 * Server-side apply: an applier states the fields it wants, owns them, loses ownership of what it no longer states, and is
 * refused when it would change a field that another applier owns.
 *
 * Not here: ownership by updates and other patches. Only `Apply` entries are tracked in managedFields, so taking over a
 * field that was written otherwise is no conflict.
 */
import { at, isObject, sameJson, type JsonObject, type MutableJson } from './json.ts';
import { badRequest, Refusal } from './status.ts';
import { mergeKeys, setLists } from './list-types.ts';
import type { StoredObject } from './store.ts';

/** FieldsV1: `f:` a field, `k:` an element by key, `v:` an element of a set, `.` the element itself. */
interface FieldSet {
  readonly [segment: string]: FieldSet;
}

interface ManagedFields {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: FieldSet;
}

export interface ApplyRequest {
  readonly live: StoredObject | undefined;
  readonly config: JsonObject;
  readonly manager: string;
  readonly force: boolean;
  readonly now: string;
}

const identity: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'managedFields',
]);

/** The body of the write that the apply amounts to. */
export function applyConfiguration(request: ApplyRequest): JsonObject {
  const { live, config, manager, now } = request;
  if (at(config, 'metadata', 'managedFields') !== undefined) throw badRequest('metadata.managedFields must be nil');
  const wanted = ownedFields(config);
  const entries = (live?.metadata.managedFields ?? []) as readonly ManagedFields[];
  const mine = entries.find((entry) => entry.operation === 'Apply' && entry.manager === manager);
  const others = entries.filter((entry) => entry !== mine);
  const settled = settle(request, others, wanted);
  const dropped = abandoned(mine?.fieldsV1 ?? {}, [wanted, ...settled.map((entry) => entry.fieldsV1)]);
  const pruned = prune(live ?? {}, dropped);
  const merged = merge(pruned, config) as JsonObject;
  const same = mine !== undefined && sameJson(mine.fieldsV1, wanted);
  const apiVersion = String(config['apiVersion']);
  const own: ManagedFields = {
    manager,
    operation: 'Apply',
    apiVersion,
    time: now,
    fieldsType: 'FieldsV1',
    fieldsV1: wanted,
  };
  const managedFields = [...settled, same ? mine : own];
  return { ...merged, metadata: { ...(merged['metadata'] as object | undefined), managedFields } };
}

function ownedFields(config: JsonObject): FieldSet {
  const { apiVersion: _version, kind: _kind, metadata, ...content } = config;
  const own = isObject(metadata) ? Object.entries(metadata).filter(([field]) => !identity.has(field)) : [];
  return fieldsOf({ ...content, ...(own.length === 0 ? {} : { metadata: Object.fromEntries(own) }) }, '');
}

function fieldsOf(value: unknown, field: string): FieldSet {
  const set: { [segment: string]: FieldSet } = {};
  if (isObject(value)) {
    for (const [name, content] of Object.entries(value)) set[`f:${name}`] = fieldsOf(content, name);
  } else if (Array.isArray(value) && elementKey(field) !== undefined) {
    for (const item of value) {
      const isKeyed = mergeKeys[field] !== undefined;
      set[segmentOf(item, field)] = isKeyed ? { '.': {}, ...fieldsOf(item, '') } : {};
    }
  }
  return set;
}

function elementKey(field: string): string | undefined {
  return mergeKeys[field] ?? (setLists.has(field) ? '' : undefined);
}

function segmentOf(item: unknown, field: string): string {
  const key = mergeKeys[field];
  if (key === undefined) return `v:${JSON.stringify(item)}`;
  const value = at(item, key);
  if (value === undefined) throw badRequest(`element of ${field} has no value for its key ${key}`);
  return `k:${JSON.stringify({ [key]: value })}`;
}

/** What the other managers own afterwards: everything, or less of it when this apply is forced. */
function settle(request: ApplyRequest, others: readonly ManagedFields[], wanted: FieldSet): readonly ManagedFields[] {
  const { live, config, force } = request;
  const clashes = others.map((entry) =>
    leaves(entry.fieldsV1).filter(
      (path) => contains(wanted, path) && !sameJson(valueAt(live, path), valueAt(config, path)),
    ),
  );
  if (!force && clashes.some((paths) => paths.length > 0)) {
    throw applyConflict(
      others.flatMap((entry, index) => (clashes[index] ?? []).map((path) => [entry.manager, path] as const)),
    );
  }
  return others
    .map((entry, index) => ({ ...entry, fieldsV1: without(entry.fieldsV1, clashes[index] ?? []) }))
    .filter((entry) => Object.keys(entry.fieldsV1).length > 0);
}

type Path = readonly string[];

function applyConflict(clashes: readonly (readonly [manager: string, path: Path])[]): Refusal {
  const causes = clashes.map(([manager, path]) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with "${manager}"`,
    field: `.${path.map((segment) => segment.slice(2)).join('.')}`,
  }));
  const which = causes.map((cause) => `${cause.message}: ${cause.field}`).join(', ');
  const message = `Apply failed with ${causes.length} conflict${causes.length === 1 ? '' : 's'}: ${which}`;
  return new Refusal({ code: 409, reason: 'Conflict', message, details: { causes } });
}

function leaves(set: FieldSet, path: Path = []): readonly Path[] {
  const segments = Object.entries(set);
  if (segments.length === 0) return path.length === 0 ? [] : [path];
  return segments.flatMap(([segment, inner]) => (segment === '.' ? [] : leaves(inner, [...path, segment])));
}

function contains(set: FieldSet, path: Path): boolean {
  const [segment, ...rest] = path;
  if (segment === undefined) return true;
  const inner = set[segment];
  return inner !== undefined && contains(inner, rest);
}

function without(set: FieldSet, paths: readonly Path[]): FieldSet {
  const left = leaves(set).filter((path) => !paths.some((other) => sameJson(other, path)));
  const rebuilt: { [segment: string]: FieldSet } = {};
  for (const path of left) {
    let level: { [segment: string]: FieldSet } = rebuilt;
    for (const segment of path) level = level[segment] ??= segment.startsWith('k:') ? { '.': {} } : {};
  }
  return rebuilt;
}

/** Leaves that this manager owned before and no manager owns now. */
function abandoned(before: FieldSet, now: readonly FieldSet[]): readonly Path[] {
  return leaves(before).filter((path) => !now.some((set) => contains(set, path)));
}

function valueAt(value: unknown, path: Path): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return value;
  return valueAt(childOf(value, segment), rest);
}

function childOf(value: unknown, segment: string): unknown {
  const label = segment.slice(2);
  if (segment.startsWith('f:')) return at(value, label);
  return Array.isArray(value) ? value.find((item) => isElement(item, segment)) : undefined;
}

function isElement(item: unknown, segment: string): boolean {
  const wanted = JSON.parse(segment.slice(2)) as unknown;
  if (segment.startsWith('v:')) return sameJson(item, wanted);
  return isObject(wanted) && Object.entries(wanted).every(([key, value]) => sameJson(at(item, key), value));
}

function prune(live: JsonObject, paths: readonly Path[]): JsonObject {
  return paths.reduce<unknown>((object, path) => removeAt(object, path), live) as JsonObject;
}

function removeAt(value: unknown, path: Path): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => (isElement(item, segment) ? removeAt(item, rest) : item));
    // An element of which only the key is left had no other owner.
    const kept = items.filter((item) => item !== undefined && !(rest.length > 0 && onlyKey(item, segment)));
    return kept.length === 0 ? undefined : kept;
  }
  if (!isObject(value)) return value;
  const name = segment.slice(2);
  const { [name]: child, ...others } = value;
  const left = child === undefined ? undefined : removeAt(child, rest);
  const emptied = isObject(left) && Object.keys(left).length === 0;
  return left === undefined || emptied ? others : { ...value, [name]: left };
}

function onlyKey(item: unknown, segment: string): boolean {
  return isElement(item, segment) && isObject(item) && Object.keys(item).length <= 1;
}

function merge(live: unknown, config: unknown, field: string = ''): unknown {
  if (isObject(config)) {
    const merged: MutableJson = isObject(live) ? { ...live } : {};
    for (const [name, value] of Object.entries(config)) merged[name] = merge(merged[name], value, name);
    return merged;
  }
  if (!Array.isArray(config) || !Array.isArray(live) || elementKey(field) === undefined) return config;
  const segments = config.map((item) => segmentOf(item, field));
  const kept = live.map((item: unknown) => {
    const index = segments.findIndex((segment) => isElement(item, segment));
    return index === -1 ? item : merge(item, config[index]);
  });
  const added = config.filter((_, index) => !live.some((item) => isElement(item, segments[index] ?? '')));
  return [...kept, ...added];
}
