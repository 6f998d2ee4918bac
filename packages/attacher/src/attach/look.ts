// SPDX-License-Identifier: Apache-2.0
/** What a run of the attachment loop works with, and what it sees in the caches and in the memory of the process. */
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
import type { CSINode, PersistentVolume, Run, VolumeAttachment } from '@csi-sidecars/runtime';
import { refuse, type Result } from '@csi-sidecars/volume';
import { type AttachmentKey, attachmentKey, finalizersOf, isAttached } from '../attachment.ts';
import type { AttachmentRuns } from '../attachment-runs.ts';
import { knownNodeId, registeredNodeId } from '../node-id.ts';
import type { AttacherSettings } from '../settings.ts';
import type { AttachMemory, Publication } from './memory.ts';

/** What all runs of the loop share. */
export interface AttachContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  readonly settings: AttacherSettings;
  readonly finalizer: string;
  readonly memory: AttachMemory;
  readonly runs: AttachmentRuns;
}

export interface AttachWatched {
  /** With the indexes `node` and `volume`. */
  readonly attachments: VolumeAttachment;
  readonly volumes: PersistentVolume;
  readonly csiNodes: CSINode;
}

/** What a run looks at, and looks at again after each of its writes and calls. */
export interface Looked {
  /** Its newest known state, including own writes. Undefined if it is gone or belongs to another driver. */
  readonly attachment: VolumeAttachment | undefined;
  /** A publish call of this process after which the volume may be on the node, and which no object records yet. */
  readonly publication: Publication | undefined;
  /** Another attachment of the same volume to the same node exists and takes over the publication. */
  readonly isNeededByAnother: boolean;
  /** The node id that the driver has registered on the node. It may register under another one while a run is under way. */
  readonly registeredNodeId: Result<string>;
  /** The registered node id, or else the one that the attachment keeps. */
  readonly knownNodeId: Result<string>;
}

export type AttachRun = Run<{
  readonly key: AttachmentKey;
  readonly watched: AttachWatched;
  readonly context: AttachContext;
}>;

/** From the caches and the memory. An object that is gone, or belongs to another driver, is not there; nor is one with another UID. */
export function look(
  { context: { driver, finalizer, memory }, caches, key }: Pick<AttachRun, 'context' | 'caches' | 'key'>,
  uid: string | undefined,
): Looked {
  const found = caches.attachments.get(key);
  const attachment = found?.spec.attacher === driver.name && found.metadata?.uid === uid ? found : undefined;
  const publication = memory.publications.get(key);
  const nodes = { csiNodes: caches.csiNodes, driverName: driver.name };
  return {
    attachment,
    registeredNodeId: attachment === undefined ? noNode : registeredNodeId(nodes, attachment),
    knownNodeId: attachment === undefined ? noNode : knownNodeId(nodes, attachment),
    publication,
    isNeededByAnother:
      publication !== undefined && hasOtherAttachment(caches, publication, { finalizer, driverName: driver.name }),
  };
}

const noNode: Result<string> = refuse('the VolumeAttachment is gone');

function hasOtherAttachment(
  { attachments }: Pick<AttachRun['caches'], 'attachments'>,
  { attachment, uid, nodeName, volumeName }: Publication,
  { finalizer, driverName }: { readonly finalizer: string; readonly driverName: string },
): boolean {
  if (volumeName === undefined) return false;
  // A later object of the same name is published by its own run. Before that it needs the volume only if it has it already.
  const takesOver = (other: VolumeAttachment): boolean =>
    attachmentKey(other) !== attachment ||
    (other.metadata?.uid !== uid && (isAttached(other) || finalizersOf(other).includes(finalizer)));
  // By volume, which has few, and not by node, which may have hundreds: every step of every run comes here.
  return attachments
    .byIndex('volume', volumeName)
    .some((other) => other.spec.nodeName === nodeName && other.spec.attacher === driverName && takesOver(other));
}
