// SPDX-License-Identifier: Apache-2.0
/**
 * Makes a cached object small by sharing what objects of a collection have in common: short strings (drivers, classes,
 * namespaces, nodes), and small parts that are equal (finalizers, labels, annotations, capacity, node affinity). Cached
 * objects are immutable, so sharing has no visible effect. It halves the size of a volume or claim without managedFields.
 *
 * From the leaves up: where all fields of two parts are shared already, the parts are equal exactly when their fields are
 * identical. So a part is found by a number made of its fields, and compared with one look at each of them.
 *
 * The tables are bounded: what was not used while a table filled up is forgotten with the next one. What is unique by
 * nature (names of objects, uids, versions, volume handles) never enters them.
 */

/** Replaces parts of a freshly parsed object, in place. */
export type Compact = (object: object) => void;

export interface CompactOptions {
  /** Size of each table; at most twice as many entries are kept. */
  readonly tableSize?: number;
}

const maxStringLength = 64;
/** Leaves of a part. Larger parts are rarely equal, and the tables hold them. */
const maxLeaves = 16;

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

/** The digest of a value that must not be shared, and of no other value. */
const unshared = 0;
/** Digests begin with these, so that what is of different kinds differs. */
const seeds = { string: 1, primitive: 2, list: 3, record: 4 };

interface SharedString {
  readonly text: string;
  /** Never given to another string. */
  readonly number: number;
}

export function createCompact({ tableSize = 2048 }: CompactOptions = {}): Compact {
  const strings = createTable<string, SharedString>(tableSize);
  const parts = createTable<number, object>(tableSize);
  let stringsSeen = 0;
  /** Digest of the value compacted last: equal values have the same digest, different values rarely do. */
  let digest = unshared;
  /** Number of leaves of the value compacted last. */
  let leaves = 0;

  const compactAny = (value: unknown): unknown => {
    if (typeof value === 'string') return compactString(value);
    if (typeof value === 'object' && value !== null) {
      return Array.isArray(value) ? compactList(value) : compactRecord(value as Record<string, unknown>);
    }
    digest = mixed(seeds.primitive, Number(value));
    leaves = 1;
    return value;
  };

  const compactString = (text: string): string => {
    digest = unshared;
    leaves = 1;
    if (text.length > maxStringLength) return text;
    const shared = strings.get(text) ?? strings.add(text, { text, number: (stringsSeen += 1) });
    digest = mixed(seeds.string, shared.number);
    return shared.text;
  };

  const compactList = (list: unknown[]): object => {
    let whole = seeds.list;
    let sum = 0;
    for (let i = 0; i < list.length; i += 1) {
      list[i] = compactAny(list[i]);
      whole = joined(whole, digest);
      sum += leaves;
    }
    return compactPart(list, whole, sum);
  };

  const compactRecord = (record: Record<string, unknown>): object => {
    // What has a uid is, or names, one particular object.
    const isReference = record['uid'] !== undefined;
    let whole = isReference ? unshared : seeds.record;
    let sum = 0;
    for (const name in record) {
      if (uniqueFields.has(name) || (isReference && name === 'name')) {
        whole = unshared;
        continue;
      }
      record[name] = compactAny(record[name]);
      whole = joined(joined(whole, digest), 1 + name.length);
      sum += leaves;
    }
    return compactPart(record, whole, sum);
  };

  const compactPart = (part: object, whole: number, sum: number): object => {
    leaves = sum;
    digest = sum > maxLeaves ? unshared : whole;
    if (digest === unshared) return part;
    const known = parts.get(digest);
    return known !== undefined && isAlike(known, part) ? known : parts.add(digest, part);
  };

  return (object) => {
    const fields = object as Record<string, unknown>;
    for (const name in fields) {
      const value = fields[name];
      if (typeof value === 'object') fields[name] = compactAny(value);
    }
  };
}

/** Digest of a whole by those of its parts: `unshared` as soon as one of them is. */
function joined(whole: number, part: number): number {
  return whole === unshared || part === unshared ? unshared : mixed(whole, part);
}

function mixed(digest: number, value: number): number {
  const product = Math.imul(((digest << 5) | (digest >>> 27)) ^ value, 0x9e3779b1);
  return product ^ (product >>> 15) || 1;
}

/** Whether two parts, whose equal fields are shared, are equal. */
function isAlike(a: object, b: object): boolean {
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => item === b[i]);
  }
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  let names = 0;
  for (const name in one) {
    if (one[name] !== other[name] || !Object.hasOwn(other, name)) return false;
    names += 1;
  }
  for (const _ in other) names -= 1;
  return names === 0;
}

interface Table<K, V> {
  get(key: K): V | undefined;
  /** Returns the value. */
  add(key: K, value: V): V;
}

/** Two generations: what is found in the old one moves to the young one; the old one is dropped when the young is full. */
function createTable<K, V>(size: number): Table<K, V> {
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  const add = (key: K, value: V): V => {
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
