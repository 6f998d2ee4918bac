// SPDX-License-Identifier: Apache-2.0
/** From the pages of a driver to its list. */
import type { ListCollector, ListedPage, ListSnapshotsResponse, ListVolumesResponse } from '@csi-sidecars/csi';
import type { DriverList, ListedSnapshot, ListedVolume } from './facts.ts';
import { createHandleMap } from './handle-map.ts';

export type Collector<P extends ListedPage, E> = ListCollector<P, DriverList<E>>;

/** Entries without an id are dropped. `none`: the driver does not say where volumes are published. */
export function volumeCollector(published: 'published nodes' | 'none'): Collector<ListVolumesResponse, ListedVolume> {
  // Volumes without nodes differ in few sizes. They share their facts, which would need more memory than their handles.
  const unpublished = new Map<number, ListedVolume>();
  const factsOf = (capacityBytes: number, publishedNodeIds: readonly string[] | undefined): ListedVolume => {
    if (publishedNodeIds !== undefined) return { capacityBytes, publishedNodeIds };
    const facts = unpublished.get(capacityBytes) ?? { capacityBytes, publishedNodeIds };
    unpublished.set(capacityBytes, facts);
    return facts;
  };
  return collector(
    ({ entries }, add) => {
      for (const { volume, status } of entries) {
        if (volume === null) continue;
        const publishedNodeIds = published === 'none' ? undefined : status?.published_node_ids;
        add(volume.volume_id, factsOf(Number(volume.capacity_bytes), publishedNodeIds));
      }
    },
    (left, right) =>
      left.capacityBytes === right.capacityBytes &&
      JSON.stringify(left.publishedNodeIds) === JSON.stringify(right.publishedNodeIds),
  );
}

export function snapshotCollector(): Collector<ListSnapshotsResponse, ListedSnapshot> {
  return collector(
    ({ entries }, add) => {
      for (const { snapshot } of entries) {
        if (snapshot === null) continue;
        const seconds = snapshot.creation_time?.seconds;
        const createdMs = seconds === undefined ? undefined : Number(seconds) * 1_000;
        add(snapshot.snapshot_id, { sourceId: snapshot.source_volume_id, createdMs });
      }
    },
    (left, right) => left.sourceId === right.sourceId && left.createdMs === right.createdMs,
  );
}

function collector<P extends ListedPage, E>(
  each: (page: P, add: (handle: string, entry: E) => void) => void,
  isSame: (left: E, right: E) => boolean,
): Collector<P, E> {
  let entries = createHandleMap<E>();
  let contradicted = new Set<string>();
  const add = (handle: string, entry: E): void => {
    if (handle === '') return;
    const known = entries.get(handle);
    if (known !== undefined && !isSame(known, entry)) contradicted.add(handle);
    entries.set(handle, entry);
  };
  return {
    begin: () => {
      entries = createHandleMap();
      contradicted = new Set();
    },
    take: (page) => each(page, add),
    listOf: (facts) => ({ ...facts, entries, contradicted }),
  };
}
