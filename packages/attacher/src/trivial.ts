// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of a driver whose volumes need no attaching, upstream's trivial handler: each of its VolumeAttachments is marked attached, even if
 * it is being deleted. Rows T1 to T3 of docs/behaviour/attacher.md. It watches neither PersistentVolumes nor nodes; upstream watches
 * PersistentVolumes all the same.
 *
 * Not here: calls to the driver, finalizers and node ids. This loop uses none of them.
 */
import {
  conclude,
  type Conclusion,
  defineLoop,
  done,
  type Flow,
  type Loop,
  type LoopTypes,
  orEnd,
  perform,
  retry,
  type Run,
  type VolumeAttachment,
  volumeAttachments,
  writeObject,
} from '@csi-sidecars/runtime';
import { type AttachmentKey, attachmentKey, isAttached } from './attachment.ts';
import { ignoreGone } from './ignore-gone.ts';
import type { AttacherSettings } from './settings.ts';
import { queueNames, type Watched } from './watched.ts';

interface TrivialLoop extends LoopTypes {
  readonly key: AttachmentKey;
  readonly watched: { readonly attachments: VolumeAttachment };
  /** Undefined if it is gone or belongs to another driver. */
  readonly observed: { readonly attachment: VolumeAttachment | undefined };
  readonly conclusion: Conclusion;
}

export interface TrivialContext {
  readonly driverName: string;
  readonly settings: AttacherSettings;
}

export function trivialLoop(
  { driverName, settings }: TrivialContext,
  { attachments }: Pick<Watched, 'attachments'>,
): Loop {
  return defineLoop<TrivialLoop>({
    name: queueNames.attachments,
    settings,
    watches: { attachments },
    primary: { watch: 'attachments', keyOf: attachmentKey },
    handlers: {
      attachments: ({ current }) =>
        current?.spec.attacher === driverName && !isAttached(current) ? attachmentKey(current) : undefined,
    },
    observe: (caches, key) => {
      const attachment = caches.attachments.get(key);
      return { attachment: attachment?.spec.attacher === driverName ? attachment : undefined };
    },
    flow: ({ attachment }) => attach(attachment),
  });
}

export function* attach(attachment: VolumeAttachment | undefined): Flow<Conclusion> {
  if (attachment === undefined) return conclude('T1', done);
  if (isAttached(attachment)) return conclude('T2', done);
  yield* orEnd(perform('T3', saveAttached, attachment), (cause) =>
    conclude('T3', retry(new Error(`failed to mark as attached: ${cause.message}`, { cause }))),
  );
  return conclude('T3', done);
}

/** The patch carries the UID, so that it cannot change another object of the same name. An object that is gone is not an error. */
export async function saveAttached(
  { client, caches, key, signal }: Run<TrivialLoop>,
  attachment: VolumeAttachment,
): Promise<void> {
  const target = { resource: volumeAttachments, ref: { name: key } };
  const body = {
    metadata: { uid: attachment.metadata?.uid },
    status: { attached: true, attachmentMetadata: null, attachError: null },
  };
  await writeObject(caches.attachments, attachment, () =>
    client
      .patch(target, { type: 'merge', body }, { signal, subresource: 'status' })
      .catch((refusal: unknown) =>
        ignoreGone({ client, signal }, { resource: volumeAttachments, object: attachment, refusal }),
      ),
  );
}
