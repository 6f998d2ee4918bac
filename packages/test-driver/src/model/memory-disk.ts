// SPDX-License-Identifier: Apache-2.0
/**
 * The storage of the model: contents are texts, mounts are map entries, and both outlive the driver, like a disk and a
 * kernel. Every method is one atomic step, and every run of the driver has its own connection. A crash cuts this connection, so that the
 * old run can no longer change anything.
 */
import type { Backend, Content } from '../core/backend.ts';
import type { VolumeRecord } from '../core/records.ts';
import type { Persistence, RecordKind, Records } from '../core/store.ts';

export interface Mount {
  readonly volumeId: string;
  readonly readonly: boolean;
}

export class MemoryDisk {
  readonly records: { readonly [K in RecordKind]: Map<string, Records[K]> } = {
    volumes: new Map(),
    snapshots: new Map(),
    groups: new Map(),
  };
  /** Volume or snapshot id -> content. */
  readonly contents: Map<string, string> = new Map();
  readonly sizes: Map<string, bigint> = new Map();
  /** Path -> what is mounted there. */
  readonly mounts: Map<string, Mount> = new Map();
  #lastId = 0;

  newId(kind: string): string {
    return `${kind}-${++this.#lastId}`;
  }

  /** Returns what brings back the volumes and snapshots of this moment. What is attached when that happens stays as it is then. */
  backup(): () => void {
    const { records, contents, sizes } = this;
    const copies = [records.volumes, records.snapshots, records.groups, contents, sizes].map((map) => {
      const kept = new Map<string, unknown>(map);
      const target: Map<string, unknown> = map;
      return [target, kept] as const;
    });
    return () => {
      const attached = [...records.volumes.values()].filter(({ attachments }) => attachments.length > 0);
      const current = attached.map((volume) => [volume, contents.get(volume.id), sizes.get(volume.id)] as const);
      for (const [map, kept] of copies) {
        map.clear();
        for (const [id, value] of kept) map.set(id, value);
      }
      for (const [volume, content = '', size = 0n] of current) {
        records.volumes.set(volume.id, volume);
        contents.set(volume.id, content);
        sizes.set(volume.id, size);
      }
    };
  }

  connect(): DiskConnection {
    const link = { up: true };
    return {
      persistence: guarded(this.#persistence(), link),
      backend: guarded(this.#backend(), link),
      cut: () => {
        link.up = false;
      },
    };
  }

  #persistence(): Persistence {
    const { records } = this;
    return {
      load: async <K extends RecordKind>(kind: K) => [...(records[kind] as Map<string, Records[K]>).values()],
      save: async <K extends RecordKind>(kind: K, record: Records[K]) => {
        (records[kind] as Map<string, Records[K]>).set(record.id, record);
      },
      remove: async (kind, id) => {
        records[kind].delete(id);
      },
    };
  }

  #backend(): Backend {
    const { contents, sizes, mounts } = this;
    const drop = (id: string): void => {
      contents.delete(id);
      sizes.delete(id);
    };
    return {
      createVolume: async (volume, content) => {
        contents.set(volume.id, this.#contentOf(content));
        sizes.set(volume.id, volume.capacityBytes);
      },
      deleteVolume: async (volume) => drop(volume.id),
      expandVolume: async (volume) => {
        sizes.set(volume.id, volume.capacityBytes);
      },
      createSnapshots: async (cuts) => {
        for (const { snapshot, volume } of cuts) {
          contents.set(snapshot.id, this.#contentOf({ kind: 'volume', volume }));
          sizes.set(snapshot.id, snapshot.sizeBytes);
        }
      },
      deleteSnapshot: async (snapshot) => drop(snapshot.id),
      openSnapshot: async (snapshot) => {
        const bytes = Buffer.from(contents.get(snapshot.id) ?? '');
        return {
          sizeBytes: Number(sizes.get(snapshot.id) ?? 0n),
          read: async (offset, into) => {
            const copied = bytes.copy(into, 0, Math.min(offset, bytes.length));
            into.fill(0, copied);
          },
          [Symbol.asyncDispose]: async () => undefined,
        };
      },
      stage: async (volume, staging) => {
        mounts.set(staging.path, { volumeId: volume.id, readonly: false });
      },
      unstage: async (_volume, path) => {
        mounts.delete(path);
      },
      publish: async (volume, publication) => {
        mounts.set(publication.path, { volumeId: volume.id, readonly: publication.readonly });
      },
      unpublish: async (volumeId, path) => {
        if ((mounts.get(path)?.volumeId ?? volumeId) !== volumeId)
          throw new Error(`something else is mounted at ${path}`);
        mounts.delete(path);
      },
      isForeign: async (volumeId, path) => (mounts.get(path)?.volumeId ?? volumeId) !== volumeId,
      growFileSystem: async () => undefined,
      usage: async (volume) => {
        const used = BigInt(contents.get(volume.id)?.length ?? 0);
        const total = sizes.get(volume.id) ?? 0n;
        return [{ unit: 'BYTES', total, used, available: total > used ? total - used : 0n }];
      },
      health: async (volume) =>
        contents.has(volume.id)
          ? []
          : [{ status: 'DATA_LOSS', reason: 'DataMissing', message: 'the data of the volume is missing' }],
      sweep: async ({ volumes, snapshots }) => {
        for (const id of contents.keys()) if (!volumes.has(id) && !snapshots.has(id)) drop(id);
      },
    };
  }

  #contentOf(content: Content): string {
    const id = content.kind === 'empty' ? undefined : sourceOf(content).id;
    if (id === undefined) return '';
    const held = this.contents.get(id);
    if (held === undefined) throw new Error(`the data of ${id} is missing`);
    return held;
  }
}

function sourceOf(content: Exclude<Content, { readonly kind: 'empty' }>): Pick<VolumeRecord, 'id'> {
  return content.kind === 'snapshot' ? content.snapshot : content.volume;
}

export interface DiskConnection {
  readonly persistence: Persistence;
  readonly backend: Backend;
  /** Operations in progress fail from now on. */
  readonly cut: () => void;
}

type Verb = (...args: never[]) => Promise<unknown>;

/** The same methods, which fail once the connection is cut. */
function guarded<T extends object>(port: T, link: { readonly up: boolean }): T {
  const verbs = Object.entries(port as Record<string, Verb>).map(([name, verb]) => {
    const guardedVerb: Verb = async (...args) => {
      if (!link.up) throw new Error('the driver is not running');
      return await verb(...args);
    };
    return [name, guardedVerb];
  });
  return Object.fromEntries(verbs) as T;
}
