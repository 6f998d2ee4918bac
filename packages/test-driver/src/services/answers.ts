// SPDX-License-Identifier: Apache-2.0
/** Records as CSI messages. */
import type { SnapshotInput, TimestampInput, VolumeContentSourceInput, VolumeInput } from '@csi-sidecars/csi';
import type { Driver } from '../core/driver.ts';
import type { Condition, ContentSource, SnapshotRecord, VolumeRecord } from '../core/records.ts';

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
  readonly volume_condition: Condition | undefined;
}

export async function statusMessage({ settings, backend }: Driver, volume: VolumeRecord): Promise<StatusMessage> {
  const offers = settings.capabilities.controller;
  return {
    published_node_ids: offers.includes('LIST_VOLUMES_PUBLISHED_NODES')
      ? volume.attachments.map(({ nodeId }) => nodeId)
      : [],
    volume_condition: offers.includes('VOLUME_CONDITION')
      ? (volume.condition ?? (await backend.condition(volume)))
      : undefined,
  };
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
  };
}

export function timestamp(ms: number): TimestampInput {
  const seconds = Math.floor(ms / 1000);
  return { seconds: seconds.toString(), nanos: Math.round((ms - seconds * 1000) * 1_000_000) };
}
