// SPDX-License-Identifier: Apache-2.0
/**
 * Which blocks of a snapshot hold data, and which differ between two snapshots: what comparing the images themselves finds. It is offered with the
 * capability SNAPSHOT_METADATA_SERVICE, which has to be asked for, because judges of drivers expect more of it. The calls are not in the journal.
 */
import type { BlockMetadataInput, GetMetadataAllocatedResponseInput, StreamingMethods } from '@csi-sidecars/csi';
import type { SnapshotImage } from '../core/backend.ts';
import type { Driver } from '../core/driver.ts';
import type { SnapshotRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';

export type StreamingMethod = keyof StreamingMethods;
type RequestOf<M extends StreamingMethod> = StreamingMethods[M]['decodedRequest'];
/** Both methods have the same responses. */
export type MetadataMessages = AsyncGenerator<GetMetadataAllocatedResponseInput, void>;

export type StreamHandlers = {
  readonly [M in StreamingMethod]: (driver: Driver, request: RequestOf<M>) => MetadataMessages;
};

const blockBytes = 4096;
const usualResults = 256;
/** Read at a time, of each image. */
const stepBytes = 256 * blockBytes;

export const streamHandlers: StreamHandlers = {
  '/csi.v1.SnapshotMetadata/GetMetadataAllocated': async function* (driver, request) {
    requireService(driver);
    const snapshot = requireImage(driver, request.snapshot_id, 'snapshot_id');
    await using image = await driver.backend.openSnapshot(snapshot);
    yield* messages(image, undefined, request);
  },
  '/csi.v1.SnapshotMetadata/GetMetadataDelta': async function* (driver, request) {
    requireService(driver);
    const base = requireImage(driver, request.base_snapshot_id, 'base_snapshot_id');
    const target = requireImage(driver, request.target_snapshot_id, 'target_snapshot_id');
    if (base.sourceVolumeId !== target.sourceVolumeId) refuse('InvalidArgument', 'the snapshots are of two volumes');
    await using before = await driver.backend.openSnapshot(base);
    await using image = await driver.backend.openSnapshot(target);
    yield* messages(image, before, request);
  },
};

function requireService({ settings }: Driver): void {
  if (!settings.capabilities.plugin.includes('SNAPSHOT_METADATA_SERVICE')) {
    refuse('Unimplemented', 'SnapshotMetadata is not supported by this driver');
  }
}

function requireImage({ store }: Driver, id: string, field: string): SnapshotRecord {
  if (id === '') refuse('InvalidArgument', `${field} is missing`);
  const snapshot = store.snapshots.ready(id) ?? refuse('NotFound', `snapshot ${id} does not exist`);
  if (snapshot.layout === 'directory') refuse('InvalidArgument', `snapshot ${id} is not one of a block device`);
  return snapshot;
}

interface Range {
  readonly starting_offset: string;
  readonly max_results: number;
}

/** Without a base: what is not zero. */
async function* messages(image: SnapshotImage, base: SnapshotImage | undefined, range: Range): MetadataMessages {
  const { max_results: maxResults } = range;
  const from = Number(range.starting_offset);
  if (maxResults < 0) refuse('InvalidArgument', 'max_results must not be negative');
  if (from < 0 || from > image.sizeBytes) refuse('OutOfRange', `starting_offset ${from} is not within the snapshot`);
  const most = maxResults === 0 ? usualResults : maxResults;
  const message = (blocks: readonly BlockMetadataInput[]): GetMetadataAllocatedResponseInput => ({
    block_metadata_type: 'FIXED_LENGTH',
    volume_capacity_bytes: String(image.sizeBytes),
    block_metadata: blocks,
  });
  let blocks: BlockMetadataInput[] = [];
  for await (const offset of differing(image, base, from - (from % blockBytes))) {
    blocks.push({ byte_offset: String(offset), size_bytes: String(blockBytes) });
    if (blocks.length < most) continue;
    yield message(blocks);
    blocks = [];
  }
  if (blocks.length > 0) yield message(blocks);
}

async function* differing(image: SnapshotImage, base: SnapshotImage | undefined, from: number): AsyncGenerator<number> {
  const ours = Buffer.alloc(stepBytes);
  const theirs = Buffer.alloc(stepBytes);
  for (let step = from; step < image.sizeBytes; step += stepBytes) {
    await image.read(step, ours);
    await base?.read(step, theirs);
    if (ours.equals(theirs)) continue;
    const end = Math.min(stepBytes, image.sizeBytes - step);
    for (let at = 0; at < end; at += blockBytes) {
      const isSame = ours.compare(theirs, at, at + blockBytes, at, at + blockBytes) === 0;
      if (!isSame) yield step + at;
    }
  }
}
