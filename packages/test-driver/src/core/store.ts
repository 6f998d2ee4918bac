// SPDX-License-Identifier: Apache-2.0
/**
 * All records, in memory and behind a `Persistence`. A change is seen by other calls at once (so that two calls cannot
 * both use the last byte of a pool), and its promise settles when it is durable; a change that cannot be made durable
 * is reverted. Callers hold the lock of the record they change.
 */
import type { GroupRecord, SnapshotRecord, StoredRecord, VolumeRecord } from './records.ts';

export interface Records {
  readonly volumes: VolumeRecord;
  readonly snapshots: SnapshotRecord;
  readonly groups: GroupRecord;
}
export type RecordKind = keyof Records;

/** The storage of records. Every call is atomic, and durable when it resolves. */
export interface Persistence {
  load<K extends RecordKind>(kind: K): Promise<readonly Records[K][]>;
  save<K extends RecordKind>(kind: K, record: Records[K]): Promise<void>;
  remove(kind: RecordKind, id: string): Promise<void>;
}

export class Table<T extends StoredRecord> {
  readonly #save: (record: T) => Promise<void>;
  readonly #remove: (id: string) => Promise<void>;
  readonly #byId = new Map<string, T>();
  readonly #byName = new Map<string, string>();

  constructor(records: readonly T[], save: (record: T) => Promise<void>, remove: (id: string) => Promise<void>) {
    this.#save = save;
    this.#remove = remove;
    for (const record of [...records].sort((a, b) => a.order - b.order)) this.#set(record);
  }

  get(id: string): T | undefined {
    return this.#byId.get(id);
  }

  /** The record, if it is visible to callers. */
  ready(id: string): T | undefined {
    const record = this.#byId.get(id);
    return record?.phase === 'ready' ? record : undefined;
  }

  named(name: string): T | undefined {
    const id = this.#byName.get(name);
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** In order of creation. */
  all(): T[] {
    return [...this.#byId.values()];
  }

  allReady(): T[] {
    return this.all().filter((record) => record.phase === 'ready');
  }

  async put(record: T): Promise<void> {
    const before = this.#byId.get(record.id);
    this.#set(record);
    try {
      await this.#save(record);
    } catch (error) {
      if (before === undefined) this.#unset(record);
      else this.#set(before);
      throw error;
    }
  }

  /** Unlike with `put`, memory changes after the disk: until the removal is durable, the record keeps its name and its space. */
  async delete(id: string): Promise<void> {
    await this.#remove(id);
    const record = this.#byId.get(id);
    if (record !== undefined) this.#unset(record);
  }

  #set(record: T): void {
    this.#byId.set(record.id, record);
    this.#byName.set(record.name, record.id);
  }

  #unset(record: T): void {
    this.#byId.delete(record.id);
    if (this.#byName.get(record.name) === record.id) this.#byName.delete(record.name);
  }
}

export interface Store {
  readonly volumes: Table<VolumeRecord>;
  readonly snapshots: Table<SnapshotRecord>;
  readonly groups: Table<GroupRecord>;
  /** The next position in lists. */
  nextOrder(): number;
}

export async function openStore(persistence: Persistence): Promise<Store> {
  const open = async <K extends RecordKind>(kind: K): Promise<Table<Records[K]>> =>
    new Table<Records[K]>(
      await persistence.load(kind),
      (record) => persistence.save(kind, record),
      (id) => persistence.remove(kind, id),
    );
  const store = { volumes: await open('volumes'), snapshots: await open('snapshots'), groups: await open('groups') };
  let order = 0;
  for (const table of Object.values(store)) for (const record of table.all()) order = Math.max(order, record.order);
  return { ...store, nextOrder: () => ++order };
}
