// SPDX-License-Identifier: Apache-2.0
/**
 * What the attach loop and the comparison with the driver share, and nothing else.
 *
 * - The comparison forces attachments that the driver disagrees with: their next run does not believe their status. A forced
 *   run that fails leaves the attachment forced, so that its retry calls the driver too. A successful run ends it, and so does
 *   the end of the object: a later object of the same name is another one.
 * - The comparison asks for which attachments the attach loop has called the driver meanwhile, because what the driver listed may
 *   be older. A call counts until its run ends, because its result is not in the status before.
 */
import type { Outcome, VolumeAttachment, WakeSource } from '@csi-sidecars/runtime';
import { type AttachmentKey, attachmentKey } from './attachment.ts';

export interface AttachmentRuns {
  /** The attach loop asks: the driver has to be called, whatever the status says. */
  isForced(attachment: VolumeAttachment): boolean;
  /** The attach loop reports that it is about to call the driver. */
  noteCall(key: AttachmentKey): void;
  /** The attach loop reports the end of a run; without an outcome: it threw. */
  end(key: AttachmentKey, outcome: Outcome | undefined): void;
  /** The attachment is gone. */
  forget(attachment: VolumeAttachment): void;
  /** Wakes the attach loop for every attachment that is forced. */
  readonly onForced: WakeSource<AttachmentKey>;
  force(attachment: VolumeAttachment): void;
  /** The driver agrees again. */
  unforce(attachment: VolumeAttachment): void;
  /** From now until it is disposed. */
  watchCalls(): WatchedCalls;
}

export interface WatchedCalls extends Disposable {
  /** A run with a call for this attachment was under way when the watch began, or has made one since. */
  has(attachment: VolumeAttachment): boolean;
}

export function createAttachmentRuns(): AttachmentRuns {
  /** UIDs of what is forced. */
  const forced = new Map<AttachmentKey, string | undefined>();
  /** Runs that have called the driver and are still under way. */
  const calling = new Set<AttachmentKey>();
  const watches = new Set<Set<AttachmentKey>>();
  const wakes: ((key: AttachmentKey) => void)[] = [];
  const isForced = (attachment: VolumeAttachment): boolean => {
    const key = attachmentKey(attachment);
    return forced.has(key) && forced.get(key) === attachment.metadata?.uid;
  };
  return {
    isForced,
    noteCall(key) {
      calling.add(key);
      for (const seen of watches) seen.add(key);
    },
    end(key, outcome) {
      if (outcome?.kind === 'done') forced.delete(key);
      calling.delete(key);
    },
    forget(attachment) {
      if (isForced(attachment)) forced.delete(attachmentKey(attachment));
    },
    onForced: (wake) => {
      wakes.push(wake);
    },
    force(attachment) {
      const key = attachmentKey(attachment);
      forced.set(key, attachment.metadata?.uid);
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
