// SPDX-License-Identifier: Apache-2.0
/**
 * What the attach loop and the comparison with the driver tell each other, and nothing else.
 *
 * - The comparison forces attachments that the driver disagrees with: their next run does not believe their status. A forced
 *   run that fails leaves the attachment forced, so that its retry is a real one; success ends it, and so does the end of the
 *   object: an object of the same name that is made later is another one.
 * - The comparison asks for whom the attach loop has called the driver meanwhile: what the driver listed may be older. A call
 *   counts until its run ends, because its result is not in the status before.
 */
import type { Handler, ObjectMeta, Reconcile, VolumeAttachment } from '@csi-sidecars/runtime';

export interface AttachmentRuns {
  /** The reconcile of the attach loop, with its runs taken down. */
  record<Key extends string>(reconcile: Reconcile<Key>): Reconcile<Key>;
  /** Asked by a run: the driver has to be called, whatever the status says. */
  isForced(attachment: VolumeAttachment): boolean;
  /** Told by a run that is about to call the driver. */
  noteCall(attachmentName: string): void;
  force(attachment: VolumeAttachment): void;
  /** The driver agrees again. */
  unforce(attachment: VolumeAttachment): void;
  /** From now until it is disposed. */
  watchCalls(): WatchedCalls;
  /** Takes care that attachments which are gone are forgotten. */
  readonly handler: Handler<VolumeAttachment>;
}

export interface WatchedCalls extends Disposable {
  /** A run with a call for this attachment was going on when the watch began, or has made one since. */
  has(attachment: VolumeAttachment): boolean;
}

export function createAttachmentRuns(): AttachmentRuns {
  /** Name -> UID of what is forced. */
  const forced = new Map<string, string | undefined>();
  /** Whose runs, still going on, have called the driver. */
  const calling = new Set<string>();
  const watches = new Set<Set<string>>();
  const isForced = ({ metadata }: VolumeAttachment): boolean =>
    forced.has(nameOf(metadata)) && forced.get(nameOf(metadata)) === metadata?.uid;
  return {
    record: (reconcile) => async (key, signal) => {
      try {
        const outcome = await reconcile(key, signal);
        if (outcome.kind === 'done') forced.delete(key);
        return outcome;
      } finally {
        calling.delete(key);
      }
    },
    isForced,
    noteCall(name) {
      calling.add(name);
      for (const seen of watches) seen.add(name);
    },
    force: ({ metadata }) => void forced.set(nameOf(metadata), metadata?.uid),
    unforce: ({ metadata }) => void forced.delete(nameOf(metadata)),
    watchCalls() {
      const seen = new Set(calling);
      watches.add(seen);
      return {
        has: ({ metadata }) => seen.has(nameOf(metadata)),
        [Symbol.dispose]: () => void watches.delete(seen),
      };
    },
    handler: {
      delete: ({ object }) => {
        if (isForced(object)) forced.delete(nameOf(object.metadata));
      },
    },
  };
}

const nameOf = (metadata: ObjectMeta | undefined): string => metadata?.name ?? '';
