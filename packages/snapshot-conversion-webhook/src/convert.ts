// SPDX-License-Identifier: Apache-2.0
/**
 * One VolumeGroupSnapshotContent from one version of its API to another, without loss. Pure. Rows of docs/behaviour/snapshot-conversion-webhook.md.
 *
 * v1 and v1beta2 are one schema: only the version changes. v1beta1 cannot hold all of a member, so the list is kept in an annotation there.
 */
import { stringifyJson } from '@csi-sidecars/runtime';
import { parseJsonText } from '@csi-sidecars/runtime/internal';
import type { Conversion, JsonObject } from '@csi-sidecars/runtime/webhook';

const kind = 'VolumeGroupSnapshotContent';
const group = 'groupsnapshot.storage.k8s.io';
const v1beta1 = `${group}/v1beta1`;
/** Versions of the current schema. */
const current: ReadonlySet<unknown> = new Set([`${group}/v1`, `${group}/v1beta2`]);

/** Holds the members of an object that is shown as v1beta1, as JSON. */
export const listAnnotation = 'groupsnapshot.storage.kubernetes.io/volume-snapshot-info-list';
const [currentList, oldList] = ['volumeSnapshotInfoList', 'volumeSnapshotHandlePairList'] as const;

export function convert(object: JsonObject, desired: string): Conversion<JsonObject> {
  const from = object['apiVersion'];
  if (from === desired) {
    return { failure: `conversion from a version to itself should not call the webhook: ${desired}` };
  }
  if (object['kind'] !== kind) return { failure: `unexpected conversion kind ${quoted(object['kind'])}` };
  if (current.has(from) && current.has(desired)) return { converted: { ...object, apiVersion: desired } };
  if (from === v1beta1 && current.has(desired)) return toCurrent(object, desired);
  if (current.has(from) && desired === v1beta1) return toV1beta1(object, desired);
  return { failure: `unexpected conversion version from ${quoted(from)} to ${quoted(desired)}` };
}

function toCurrent(object: JsonObject, apiVersion: string): Conversion<JsonObject> {
  const annotations = annotationsOf(object);
  const kept = annotations[listAnnotation];
  if (kept !== undefined) {
    const list = parseList(kept);
    if ('failure' in list) return list;
    const { [listAnnotation]: _, ...others } = annotations;
    const metadata = { ...objectIn(object, 'metadata'), annotations: others };
    const { [oldList]: __, ...status } = objectIn(object, 'status') ?? {};
    return { converted: { ...object, apiVersion, metadata, status: { ...status, [currentList]: list.members } } };
  }
  const list = listIn(object, oldList);
  if (list === undefined) return { converted: { ...object, apiVersion } };
  if ('failure' in list) return list;
  const { [oldList]: _, ...status } = objectIn(object, 'status') ?? {};
  return { converted: { ...object, apiVersion, status: { ...status, [currentList]: list.members } } };
}

function toV1beta1(object: JsonObject, apiVersion: string): Conversion<JsonObject> {
  const list = listIn(object, currentList);
  if (list === undefined) return { converted: { ...object, apiVersion } };
  if ('failure' in list) return list;
  const pairs: JsonObject[] = [];
  for (const [index, member] of list.members.entries()) {
    if (!isObject(member)) return { failure: `unexpected content in .status.${currentList}[${index}]: expected map` };
    const { creationTime: _, readyToUse: __, restoreSize: ___, ...pair } = member;
    pairs.push(pair);
  }
  const annotations = { ...annotationsOf(object), [listAnnotation]: stringifyJson(list.members.map(sorted)) };
  const { [currentList]: _, ...status } = objectIn(object, 'status') ?? {};
  return {
    converted: {
      ...object,
      apiVersion,
      metadata: { ...objectIn(object, 'metadata'), annotations },
      status: { ...status, [oldList]: pairs },
    },
  };
}

type List = { readonly members: readonly unknown[] } | { readonly failure: string };

/** Undefined: there is none. */
function listIn(object: JsonObject, field: string): List | undefined {
  const status = object['status'] ?? undefined;
  const value = isObject(status) ? (status[field] ?? undefined) : status;
  if (value === undefined) return undefined;
  if (isObject(status) && Array.isArray(value)) return { members: value };
  return {
    failure: `unable to traverse for .status.${field}: .status.${field} accessor error: it is of the type ${typeof value}, expected a list`,
  };
}

function parseList(text: unknown): List {
  const what = `unable to deserialize annotation ${quoted(listAnnotation)}`;
  try {
    const members = parseJsonText(String(text), 'exact');
    return Array.isArray(members) ? { members } : { failure: `${what}: expected a list` };
  } catch (error) {
    return { failure: `${what}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function annotationsOf(object: JsonObject): JsonObject {
  return objectIn(objectIn(object, 'metadata') ?? {}, 'annotations') ?? {};
}

function objectIn(object: JsonObject, field: string): JsonObject | undefined {
  const value = object[field];
  return isObject(value) ? value : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** By the names of its fields, so that one list is always one text. */
function sorted(member: unknown): unknown {
  return isObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member;
}

function quoted(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? value : '');
}
