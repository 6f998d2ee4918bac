// SPDX-License-Identifier: Apache-2.0
/** The document of `audit --dump`, and how `--driver-list` reads it. Its content is data of somebody else: each field is checked. */
import type { DriverList, ListedSnapshot, ListedVolume } from '@csi-sidecars/volume';
import type { DriverLists, Listed } from './driver-list.ts';

const apiVersion = 'csi-sidecars/v1';
const kind = 'DriverList';

export function documentOf(lists: DriverLists): object {
  const { driver, startedMs, endedMs, volumes, snapshots, hasPublishedNodes } = lists;
  const isWhole = (listed: Listed<unknown>): boolean => listed.kind === 'notRun' || listed.incomplete === undefined;
  return {
    apiVersion,
    kind,
    driver,
    startedAt: new Date(startedMs).toISOString(),
    endedAt: new Date(endedMs).toISOString(),
    complete: isWhole(volumes) && isWhole(snapshots),
    hasPublishedNodes,
    volumes: halfOf(volumes, (id, { capacityBytes, publishedNodeIds = null }) => ({
      id,
      capacityBytes,
      publishedNodeIds,
    })),
    snapshots: halfOf(snapshots, (id, { sourceId, createdMs }) => ({
      id,
      sourceId,
      createdAt: createdMs === undefined ? null : new Date(createdMs).toISOString(),
    })),
    notRun: { volumes: becauseOf(volumes), snapshots: becauseOf(snapshots) },
    incomplete: { volumes: incompleteOf(volumes), snapshots: incompleteOf(snapshots) },
    contradicted: { volumes: contradictedOf(volumes), snapshots: contradictedOf(snapshots) },
  };
}

function halfOf<E>(listed: Listed<E>, itemOf: (id: string, entry: E) => object): readonly object[] {
  return listed.kind === 'notRun' ? [] : [...listed.list.entries].map(([id, entry]) => itemOf(id, entry));
}

function becauseOf(listed: Listed<unknown>): string | null {
  return listed.kind === 'notRun' ? listed.because : null;
}

function incompleteOf(listed: Listed<unknown>): string | null {
  return listed.kind === 'notRun' ? null : (listed.incomplete ?? null);
}

function contradictedOf(listed: Listed<unknown>): readonly string[] {
  return listed.kind === 'notRun' ? [] : [...listed.list.contradicted];
}

/** Throws for a text that is not such a document. */
export function parseDocument(text: string): DriverLists {
  const root = record(JSON.parse(text), 'the document');
  if (root['kind'] !== kind || root['apiVersion'] !== apiVersion) throw new Error(`it is no ${kind} of ${apiVersion}`);
  const [startedMs, endedMs] = [time(root, 'startedAt'), time(root, 'endedAt')];
  const half = <E>(name: 'volumes' | 'snapshots', entryOf: (item: Fields) => E): Listed<E> => {
    const because = optionalText(record(root['notRun'], 'notRun'), name);
    if (because !== undefined) return { kind: 'notRun', because };
    const incomplete = optionalText(record(root['incomplete'], 'incomplete'), name);
    const contradicted = texts(record(root['contradicted'], 'contradicted'), name);
    const entries = new Map(
      items(root, name).map((value): readonly [string, E] => {
        const item = record(value, `an entry of ${name}`);
        return [requiredText(item, 'id'), entryOf(item)];
      }),
    );
    const list: DriverList<E> = {
      startedMs,
      isComplete: incomplete === undefined,
      entries,
      contradicted: new Set(contradicted),
    };
    return { kind: 'listed', list, incomplete };
  };
  return {
    driver: requiredText(root, 'driver'),
    startedMs,
    endedMs,
    hasPublishedNodes: root['hasPublishedNodes'] === true,
    volumes: half<ListedVolume>('volumes', (item) => ({
      capacityBytes: number(item, 'capacityBytes'),
      publishedNodeIds: item['publishedNodeIds'] === null ? undefined : texts(item, 'publishedNodeIds'),
    })),
    snapshots: half<ListedSnapshot>('snapshots', (item) => ({
      sourceId: requiredText(item, 'sourceId'),
      createdMs: item['createdAt'] === null ? undefined : time(item, 'createdAt'),
    })),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function record(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is no object`);
  return value as Fields;
}

function items(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw new Error(`${name} is no list`);
  return value;
}

function texts(fields: Fields, name: string): readonly string[] {
  return items(fields, name).map((value) => {
    if (typeof value !== 'string') throw new Error(`${name} has an entry that is no text`);
    return value;
  });
}

function requiredText(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string') throw new Error(`${name} is no text`);
  return value;
}

function optionalText(fields: Fields, name: string): string | undefined {
  return fields[name] === null || fields[name] === undefined ? undefined : requiredText(fields, name);
}

function number(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value !== 'number') throw new Error(`${name} is no number`);
  return value;
}

function time(fields: Fields, name: string): number {
  const ms = Date.parse(requiredText(fields, name));
  if (!Number.isFinite(ms)) throw new Error(`${name} is no time`);
  return ms;
}
