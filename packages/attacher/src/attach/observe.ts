// SPDX-License-Identifier: Apache-2.0
/** Reads the state of one VolumeAttachment from the caches and from memory. Synchronous, no network. */
import { type Caches, type Lister, toObjectKey, type VolumeAttachment } from '@csi-sidecars/runtime';
import { refuse, type Result } from '@csi-sidecars/volume';
import { type AttachmentKey, attachmentKey, finalizersOf, isAttached } from '../attachment.ts';
import { knownNodeId, registeredNodeId } from '../node-id.ts';
import type { Publication } from './memory.ts';
import {
  type AttachContext,
  type AttachLoop,
  type AttachState,
  nothingLearned,
  type Observed,
  type Related,
} from './state.ts';

type AttachCaches = Caches<AttachLoop>;

export function observe(context: AttachContext, caches: AttachCaches, key: AttachmentKey): AttachState {
  const attachment = ownAttachment(caches.attachments, key, context.driver.name);
  const related = attachment === undefined ? noRelated : relatedTo(attachment, caches, context);
  return { ...observeAgain(context, caches, { key, uid: related.uid }), ...related, ...nothingLearned };
}

export function observeAgain(
  { driver, finalizer, memory }: AttachContext,
  { attachments, csiNodes }: Pick<AttachCaches, 'attachments' | 'csiNodes'>,
  { key, uid }: { readonly key: AttachmentKey; readonly uid: string | undefined },
): Observed {
  const current = ownAttachment(attachments, key, driver.name);
  const attachment = current?.metadata?.uid === uid ? current : undefined;
  const publication = memory.publications.get(key);
  const nodes = { csiNodes, driverName: driver.name };
  return {
    attachment,
    registeredNodeId: attachment === undefined ? noNode : registeredNodeId(nodes, attachment),
    knownNodeId: attachment === undefined ? noNode : knownNodeId(nodes, attachment),
    publication,
    isNeededByAnother: publication !== undefined && hasOtherAttachment(attachments, publication, finalizer),
  };
}

/** Returns undefined if the object is gone or belongs to another driver. */
function ownAttachment(
  attachments: Lister<VolumeAttachment>,
  key: AttachmentKey,
  driverName: string,
): VolumeAttachment | undefined {
  const attachment = attachments.get(key);
  return attachment?.spec.attacher === driverName ? attachment : undefined;
}

function hasOtherAttachment(
  attachments: Lister<VolumeAttachment>,
  { attachment, uid, nodeName, volumeName }: Publication,
  finalizer: string,
): boolean {
  if (volumeName === undefined) return false;
  // A later object of the same name is published by its own run. Before that it needs the volume only if it has it already.
  const takesOver = (other: VolumeAttachment): boolean =>
    attachmentKey(other) !== attachment ||
    (other.metadata?.uid !== uid && (isAttached(other) || finalizersOf(other).includes(finalizer)));
  return attachments
    .byIndex('node', nodeName)
    .some((other) => other.spec.source.persistentVolumeName === volumeName && takesOver(other));
}

function relatedTo(attachment: VolumeAttachment, { volumes }: AttachCaches, { runs }: AttachContext): Related {
  const { persistentVolumeName } = attachment.spec.source;
  const volume =
    persistentVolumeName === undefined ? undefined : volumes.get(toObjectKey(undefined, persistentVolumeName));
  return {
    uid: attachment.metadata?.uid,
    isForced: runs.isForced(attachment),
    volume: volume === undefined ? 'unasked' : { value: volume },
  };
}

/** An attachment that is gone has no related objects. */
const noRelated: Related = {
  uid: undefined,
  isForced: false,
  volume: 'unasked',
};

const noNode: Result<string> = refuse('the VolumeAttachment is gone');
