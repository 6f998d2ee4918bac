// SPDX-License-Identifier: Apache-2.0
/** From the answers of the driver to what the status of a content needs. Whatever the driver answers, this throws nothing. */
import type { CreateSnapshotResponse, ListSnapshotsResponse, Snapshot } from '@csi-sidecars/csi';
import { ok, refuse, type Result } from '@csi-sidecars/volume';
import { sizeOf, timeOf } from '../int64.ts';
import * as shared from '../messages.ts';
import type { TakenSnapshot } from './content.ts';

export function readCreated({ snapshot }: CreateSnapshotResponse): Result<TakenSnapshot> {
  if (snapshot === null) return refuse(shared.noSnapshot('CreateSnapshot'));
  if (snapshot.snapshot_id === '') return refuse(shared.noHandle('CreateSnapshot'));
  // Upstream ignores the group of a single snapshot.
  return ok({ ...toTaken(snapshot), groupHandle: '' });
}

/**
 * A driver that ignores the filter lists its other snapshots too: the entry with the id that was asked for counts. Without one the first
 * counts, as with upstream: a driver may spell its ids differently. `handle` is what the content says.
 */
export function readListed(
  { entries }: ListSnapshotsResponse,
  { asked, handle }: { readonly asked: string; readonly handle: string },
): Result<TakenSnapshot> {
  const entry = entries.find(({ snapshot }) => snapshot?.snapshot_id === asked) ?? entries[0];
  if (entry === undefined) return refuse(`can not find snapshot for snapshotID ${asked}`);
  if (entry.snapshot === null) return refuse(shared.noSnapshot('ListSnapshots'));
  return ok({ ...toTaken(entry.snapshot), handle });
}

function toTaken(snapshot: Snapshot): TakenSnapshot {
  return {
    handle: snapshot.snapshot_id,
    isReady: snapshot.ready_to_use,
    createdAt: timeOf(snapshot.creation_time),
    size: sizeOf(snapshot.size_bytes),
    groupHandle: snapshot.group_snapshot_id,
    topologies: snapshot.accessible_topology,
  };
}
