// SPDX-License-Identifier: Apache-2.0
/** Records as CSI messages. */
import type { SnapshotInput, TimestampInput, VolumeContentSourceInput, VolumeInput } from '@csi-sidecars/csi';
import type { Driver } from '../core/driver.ts';
import { hasSnapshotTopology } from '../core/topology.ts';
import type { ContentSource, SnapshotRecord, VolumeRecord } from '../core/records.ts';

export function volumeMessage(volume: VolumeRecord): VolumeInput {
  return {
    volume_id: volume.id,
    capacity_bytes: volume.capacityBytes.toString(),
    volume_context: volume.created.parameters,
    content_source: sourceMessage(volume.created.source),
    accessible_topology: volume.segments === undefined ? [] : [{ segments: volume.segments }],
  };
}

function sourceMessage(source: ContentSource): VolumeContentSourceInput | undefined {
  switch (source.kind) {
    case 'empty':
      return undefined;
    case 'snapshot':
      return { snapshot: { snapshot_id: source.id } };
    case 'volume':
      return { volume: { volume_id: source.id } };
  }
}

export interface StatusMessage {
  readonly published_node_ids: readonly string[];
}

export function statusMessage({ settings }: Driver, volume: VolumeRecord): StatusMessage {
  const isOffered = settings.capabilities.controller.includes('LIST_VOLUMES_PUBLISHED_NODES');
  return { published_node_ids: isOffered ? volume.attachments.map(({ nodeId }) => nodeId) : [] };
}

export function isReady({ clock }: Driver, snapshot: SnapshotRecord): boolean {
  return clock.nowMs() >= snapshot.readyAtMs;
}

export function snapshotMessage(driver: Driver, snapshot: SnapshotRecord): SnapshotInput {
  return {
    snapshot_id: snapshot.id,
    source_volume_id: snapshot.sourceVolumeId,
    size_bytes: snapshot.sizeBytes.toString(),
    creation_time: timestamp(snapshot.createdAtMs),
    ready_to_use: isReady(driver, snapshot),
    group_snapshot_id: snapshot.groupId ?? '',
    accessible_topology:
      hasSnapshotTopology(driver.settings) && snapshot.segments !== undefined ? [{ segments: snapshot.segments }] : [],
  };
}

export function timestamp(ms: number): TimestampInput {
  const seconds = Math.floor(ms / 1000);
  return { seconds: seconds.toString(), nanos: Math.round((ms - seconds * 1000) * 1_000_000) };
}
