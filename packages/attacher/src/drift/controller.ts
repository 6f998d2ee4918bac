// SPDX-License-Identifier: Apache-2.0
/** The comparison assembled: one pass, and passes one after another. */
import { type Lister, type Logger, openGate, type StartGate, type VolumeAttachment } from '@csi-sidecars/runtime';
import { isAttached } from '../attachment-facts.ts';
import type { AttachmentRuns } from '../attachment-runs.ts';
import { decide } from './decide.ts';
import * as messages from './messages.ts';
import { type ObserveDeps, placeOf } from './observe.ts';
import { type ListDeps, type ListOptions, listPublished } from './perform.ts';
import type { Action } from './state.ts';

export interface ComparisonDeps extends ListDeps {
  readonly logger: Logger;
  readonly caches: ObserveDeps;
  readonly attachments: Lister<VolumeAttachment>;
  readonly runs: AttachmentRuns;
  readonly enqueue: (attachmentName: string) => void;
  /** Asked before each pass. Default: always open. */
  readonly gate?: StartGate | undefined;
}

export interface ComparisonOptions extends ListOptions {
  /** From the end of a pass to the beginning of the next. */
  readonly pauseMs: number;
}

/** Until the signal aborts; never two passes at a time. Assumes that the caches are synced. */
export async function runComparisons(
  deps: ComparisonDeps,
  options: ComparisonOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, gate = openGate } = deps;
  try {
    for (;;) {
      await gate.whenOpen(signal);
      await compareAll(deps, options, signal).catch((error: unknown) => {
        if (!signal.aborted) deps.logger.error(error, messages.passFailed);
      });
      await clock.sleep(options.pauseMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Compares what is true after the list, and only where nothing was called since before it: the list is as old as that. */
async function compareAll(deps: ComparisonDeps, options: ListOptions, signal: AbortSignal): Promise<void> {
  using calls = deps.runs.watchCalls();
  const published = await listPublished(deps, options, signal);
  for (const attachment of deps.attachments.list()) {
    if (attachment.spec.attacher !== deps.caches.driverName) continue;
    const comparison = { attachment, wasCalled: calls.has(attachment), place: placeOf(deps.caches, attachment) };
    carryOut(deps, attachment, decide(comparison, published));
  }
}

function carryOut({ logger, runs, enqueue }: ComparisonDeps, attachment: VolumeAttachment, action: Action): void {
  const { name = '' } = attachment.metadata ?? {};
  switch (action.kind) {
    case 'leave':
      return;
    case 'skip':
      logger.error(undefined, messages.skipped, { VolumeAttachment: name, reason: action.reason });
      return;
    case 'unforce':
      runs.unforce(attachment);
      return;
    case 'force':
      logger.error(undefined, messages.disagrees, {
        VolumeAttachment: name,
        volumeHandle: action.place.volumeHandle,
        attachedStatus: isAttached(attachment),
        found: action.published,
      });
      runs.force(attachment);
      enqueue(name);
  }
}
