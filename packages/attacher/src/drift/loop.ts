// SPDX-License-Identifier: Apache-2.0
/**
 * The comparison of VolumeAttachments with what the driver lists. If they differ, a user or another program changed something
 * outside of Kubernetes. The comparison then forces the attachment, and the attach loop repairs the difference. Rows R1 to R4 of
 * docs/behaviour/attacher.md.
 *
 * Not here: the call to the driver that repairs the difference (`attach/`). The comparison writes nothing, and of listed volumes
 * that have no attachment it only counts how many there are (`count.ts`).
 */
import type { CsiChannel } from '@csi-sidecars/csi';
import {
  type CSINode,
  definePeriodicLoop,
  type Logger,
  type Loop,
  type Pass,
  type PersistentVolume,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { Result } from '@csi-sidecars/volume';
import { attachmentKey, isAttached } from '../attachment.ts';
import type { AttachmentRuns } from '../attachment-runs.ts';
import type { AttacherSettings } from '../settings.ts';
import type { Watched } from '../watched.ts';
import type { Count } from './count.ts';
import { type ListedNames, listPublished, namesOf, type Published } from './listed.ts';

const name = 'csi-attacher-drift';

const passFailed = 'Failed to compare VolumeAttachments with the volumes of the driver; the next pass will try again';
const skipped = 'A VolumeAttachment cannot be compared with the driver';
const disagrees =
  'VolumeAttachment attached status and actual state do not match. Adding back to VolumeAttachment queue for forced reprocessing'; // R4

interface DriftWatches {
  readonly attachments: VolumeAttachment;
  readonly volumes: PersistentVolume;
  readonly csiNodes: CSINode;
}

export interface DriftContext {
  readonly driverName: string;
  readonly channel: CsiChannel;
  readonly runs: AttachmentRuns;
  readonly count: Count;
  readonly settings: Pick<AttacherSettings, 'maxEntries' | 'timeoutMs' | 'reconcileSyncMs'>;
}

export function driftLoop(context: DriftContext, watches: Watched): Loop {
  return definePeriodicLoop<DriftWatches>({
    name,
    watches,
    pauseMs: context.settings.reconcileSyncMs,
    pass: (pass) => compareAll(context, pass),
    failed: passFailed,
  });
}

/** Skips attachments for which the driver was called since before the list: the list may be older than those calls. */
async function compareAll(
  { driverName, channel, runs, count, settings }: DriftContext,
  { caches, clock, logger, signal }: Pass<DriftWatches>,
): Promise<void> {
  using calls = runs.watchCalls();
  const published = await listPublished({ channel, clock }, settings, signal);
  for (const attachment of caches.attachments.list()) {
    if (attachment.spec.attacher !== driverName) continue;
    const comparison = {
      attachment,
      wasCalled: calls.has(attachment),
      names: namesOf({ ...caches, driverName }, attachment),
    };
    perform({ logger, runs }, attachment, decide(comparison, published));
  }
  count({ driverName, ...caches, published, nowMs: clock.nowMs() });
}

function perform(
  { logger, runs }: { readonly logger: Logger; readonly runs: AttachmentRuns },
  attachment: VolumeAttachment,
  action: Action,
): void {
  const key = attachmentKey(attachment);
  if (logger.enabled(5)) logger.info(5, 'Decided', { queue: name, key, row: action.row, action: action.kind });
  switch (action.kind) {
    case 'leave':
      return;
    case 'skip':
      logger.error(undefined, skipped, { VolumeAttachment: key, reason: action.reason });
      return;
    case 'unforce':
      runs.unforce(attachment);
      return;
    case 'force':
      logger.error(undefined, disagrees, {
        VolumeAttachment: key,
        volumeHandle: action.names.volumeHandle,
        attachedStatus: isAttached(attachment),
        found: action.isPublished,
      });
      runs.force(attachment);
  }
}

export interface Comparison {
  readonly attachment: VolumeAttachment;
  /** The attach loop has called the driver for this attachment since before the list was requested. */
  readonly wasCalled: boolean;
  readonly names: Result<ListedNames>;
}

export type Action = { readonly row: string } & (
  | { readonly kind: 'leave' }
  | { readonly kind: 'skip'; readonly reason: string }
  | { readonly kind: 'unforce' }
  | { readonly kind: 'force'; readonly names: ListedNames; readonly isPublished: boolean }
);

export function decide({ attachment, wasCalled, names }: Comparison, published: Published): Action {
  if (wasCalled) return { row: 'R1', kind: 'leave' };
  if (names.kind === 'error') return { row: 'R2', kind: 'skip', reason: names.message };
  const { volumeHandle, nodeId } = names.value;
  const isPublished = published.get(volumeHandle)?.has(nodeId) === true;
  if (isAttached(attachment) === isPublished) return { row: 'R3', kind: 'unforce' };
  return { row: 'R4', kind: 'force', names: names.value, isPublished };
}
