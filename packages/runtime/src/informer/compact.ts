// SPDX-License-Identifier: Apache-2.0
/**
 * Makes a cached object small by sharing what objects of a collection have in common: short strings (drivers, classes,
 * namespaces, nodes), and small parts that are equal (finalizers, labels, annotations, capacity, node affinity). Cached
 * objects are immutable, so nobody notices. It halves what is left of a volume or claim without managedFields.
 *
 * The tables are bounded: what was not used while a table filled up is forgotten with the next one. What is unique by
 * nature (names of objects, uids, versions, volume handles) never enters them.
 */

/** Replaces parts of a freshly parsed object, in place. */
export type Compact = (object: object) => void;

export interface CompactOptions {
  /** Of each table; at most twice as many entries are kept. */
  readonly tableSize?: number;
}

const maxStringLength = 64;
/** Of the fingerprint of a part. Larger parts are rarely equal, and the tables hold the fingerprints. */
const maxPartLength = 320;

/** Fields whose values differ from object to object. */
const uniqueFields: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'lastPhaseTransitionTime',
  'lastTransitionTime',
  'startTime',
  'volumeHandle',
  'snapshotHandle',
  'volumeName',
  'persistentVolumeName',
  'claimName',
]);

export function createCompact({ tableSize = 2048 }: CompactOptions = {}): Compact {
  const strings = createTable<string>(tableSize);
  const parts = createTable<object>(tableSize);
  /** Says all about the value compacted last; empty when it is not to be shared. */
  let fingerprint = '';

  const compactAny = (value: unknown): unknown => {
    if (typeof value === 'string') {
      if (value.length > maxStringLength) {
        fingerprint = '';
        return value;
      }
      // Lengths in front of strings and names, and ends behind all else, keep different values from looking alike.
      fingerprint = `"${value.length}:${value}`;
      return strings.get(value) ?? strings.add(value, value);
    }
    if (typeof value === 'object' && value !== null) {
      return Array.isArray(value) ? compactList(value) : compactRecord(value as Record<string, unknown>);
    }
    fingerprint = `${typeof value} ${String(value)};`;
    return value;
  };

  const compactList = (list: unknown[]): object => {
    let whole = '[';
    for (let i = 0; i < list.length; i += 1) {
      list[i] = compactAny(list[i]);
      whole = joined(whole, fingerprint);
    }
    return shared(list, whole);
  };

  const compactRecord = (record: Record<string, unknown>): object => {
    // What has a uid is, or names, one particular object.
    const isReference = record['uid'] !== undefined;
    let whole = isReference ? '' : '{';
    for (const name in record) {
      if (uniqueFields.has(name) || (isReference && name === 'name')) {
        whole = '';
        continue;
      }
      record[name] = compactAny(record[name]);
      if (whole !== '') whole = joined(`${whole}${name.length}:${name}=`, fingerprint);
    }
    return shared(record, whole);
  };

  const shared = (part: object, whole: string): object => {
    fingerprint = whole === '' ? '' : `${whole}]`;
    if (fingerprint === '') return part;
    return parts.get(fingerprint) ?? parts.add(fingerprint, part);
  };

  return (object) => {
    const fields = object as Record<string, unknown>;
    for (const name in fields) {
      const value = fields[name];
      if (typeof value === 'object') fields[name] = compactAny(value);
    }
  };
}

/** Empty as soon as a part of it is, or it gets too long. */
function joined(whole: string, part: string): string {
  return whole === '' || part === '' || whole.length + part.length > maxPartLength ? '' : whole + part;
}

interface Table<V> {
  get(key: string): V | undefined;
  /** Returns the value. */
  add(key: string, value: V): V;
}

/** Two generations: what is found in the old one moves to the young one; the old one is dropped when the young is full. */
function createTable<V>(size: number): Table<V> {
  let young = new Map<string, V>();
  let old = new Map<string, V>();
  const add = (key: string, value: V): V => {
    if (young.size >= size) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
    return value;
  };
  return {
    get(key) {
      const found = young.get(key);
      if (found !== undefined) return found;
      const survivor = old.get(key);
      return survivor === undefined ? undefined : add(key, survivor);
    },
    add,
  };
}
