// SPDX-License-Identifier: Apache-2.0
/**
 * The memory that the attach loop and the comparison with the driver share.
 *
 * - The comparison forces attachments whose status the driver contradicts: their next run ignores the status. After a forced run that
 *   fails the attachment stays forced, so that its retry calls the driver too. A successful run ends the force, and so does the end of
 *   the object: a later object of the same name is not forced. Nor is one whose status is right by now: it has changed since, by a late
 *   write of the process before, or the volume is unpublished, and the status is that it is not attached.
 * - The comparison needs to know for which attachments the attach loop has called the driver meanwhile, because the list may be older
 *   than those calls. A call counts until its run ends, because only then its result is in the status.
 */
import type { Outcome, VolumeAttachment, WakeSource } from '@csi-sidecars/runtime';
import { type AttachmentKey, attachmentKey, isAttached } from './attachment.ts';

export interface AttachmentRuns {
  /** Called by the attach loop. True if the run has to call the driver whatever the status shows. */
  isForced(attachment: VolumeAttachment): boolean;
  /** Called by the attach loop before it calls the driver. */
  noteCall(key: AttachmentKey): void;
  /** Called by the attach loop when ControllerUnpublishVolume has succeeded. */
  noteUnpublished(key: AttachmentKey): void;
  /** Called by the attach loop when a run ends. The outcome is undefined if the run threw. */
  end(key: AttachmentKey, outcome: Outcome | undefined): void;
  /** Called when the attachment is gone. */
  forget(attachment: VolumeAttachment): void;
  /** Wakes the attach loop for every attachment that is forced. */
  readonly onForced: WakeSource<AttachmentKey>;
  force(attachment: VolumeAttachment): void;
  /** Called when the driver agrees with the status again. */
  unforce(attachment: VolumeAttachment): void;
  /** Records calls from now on until the result is disposed. */
  watchCalls(): WatchedCalls;
}

export interface WatchedCalls extends Disposable {
  /** True if a run had called the driver for this attachment and was in flight when the watch began, or has called it since. */
  has(attachment: VolumeAttachment): boolean;
}

export function createAttachmentRuns(): AttachmentRuns {
  /** As they were when they were compared. */
  const forced = new Map<AttachmentKey, VolumeAttachment>();
  /** The attachments whose current run has called the driver. */
  const calling = new Set<AttachmentKey>();
  const watches = new Set<Set<AttachmentKey>>();
  const wakes: ((key: AttachmentKey) => void)[] = [];
  const compared = (attachment: VolumeAttachment): VolumeAttachment | undefined => {
    const known = forced.get(attachmentKey(attachment));
    return known?.metadata?.uid === attachment.metadata?.uid ? known : undefined;
  };
  return {
    isForced(attachment) {
      const known = compared(attachment);
      return known !== undefined && isAttached(known) === isAttached(attachment);
    },
    noteCall(key) {
      calling.add(key);
      for (const seen of watches) seen.add(key);
    },
    noteUnpublished(key) {
      const known = forced.get(key);
      if (known !== undefined && !isAttached(known)) forced.delete(key);
    },
    end(key, outcome) {
      if (outcome?.kind === 'done') forced.delete(key);
      calling.delete(key);
    },
    forget(attachment) {
      if (compared(attachment) !== undefined) forced.delete(attachmentKey(attachment));
    },
    onForced: (wake) => {
      wakes.push(wake);
    },
    force(attachment) {
      const key = attachmentKey(attachment);
      forced.set(key, attachment);
      for (const wake of wakes) wake(key);
    },
    unforce: (attachment) => void forced.delete(attachmentKey(attachment)),
    watchCalls() {
      const seen = new Set(calling);
      watches.add(seen);
      return {
        has: (attachment) => seen.has(attachmentKey(attachment)),
        [Symbol.dispose]: () => void watches.delete(seen),
      };
    },
  };
}
