// SPDX-License-Identifier: Apache-2.0
/** Assembles the comparison: one pass after another, with a pause between them. */
import type { CsiChannel } from '@csi-sidecars/csi';
import { definePeriodicLoop, type Logger, type Loop, type Pass, type VolumeAttachment } from '@csi-sidecars/runtime';
import { attachmentKey, isAttached } from '../attachment.ts';
import type { AttachmentRuns } from '../attachment-runs.ts';
import type { AttacherSettings } from '../settings.ts';
import type { Watched } from '../watched.ts';
import { decide } from './decide.ts';
import * as messages from './messages.ts';
import { namesOf } from './observe.ts';
import { listPublished } from './perform.ts';
import type { Action, DriftWatches } from './state.ts';

const name = 'csi-attacher-drift';

export interface DriftContext {
  readonly driverName: string;
  readonly channel: CsiChannel;
  readonly runs: AttachmentRuns;
  readonly settings: Pick<AttacherSettings, 'maxEntries' | 'timeoutMs' | 'reconcileSyncMs'>;
}

export function driftLoop(context: DriftContext, watches: Watched): Loop {
  return definePeriodicLoop<DriftWatches>({
    name,
    watches,
    pauseMs: context.settings.reconcileSyncMs,
    pass: (pass) => compareAll(context, pass),
    failed: messages.passFailed,
  });
}

/** Skips attachments for which the driver was called since before the list: the list may be older than those calls. */
async function compareAll(
  { driverName, channel, runs, settings }: DriftContext,
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
      logger.error(undefined, messages.skipped, { VolumeAttachment: key, reason: action.reason });
      return;
    case 'unforce':
      runs.unforce(attachment);
      return;
    case 'force':
      logger.error(undefined, messages.disagrees, {
        VolumeAttachment: key,
        volumeHandle: action.names.volumeHandle,
        attachedStatus: isAttached(attachment),
        found: action.isPublished,
      });
      runs.force(attachment);
  }
}
