// SPDX-License-Identifier: Apache-2.0
/**
 * - `intent`: a volume is published only once its attachment and its PersistentVolume cannot go.
 * - `protected`: what is attached has a VolumeAttachment and a PersistentVolume that cannot go.
 * - `in-use`: nothing is detached that the API, or a node, says is in use; a volume is on one node.
 * - `shown`: an attachment shows that it is attached as long as it is, without an error beside that; one that is detached gets no error.
 */
import {
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { nodeIdOf } from '../../names.ts';
import { attachmentOf, type Check, type Findings, type Stage, volumeOf } from './stage.ts';

export function attachmentChecks(stage: Stage, { breach }: Findings): Check {
  const { server, driver, isMounted, overwritten } = stage;
  const { objects } = server;
  const attachedOnce = new Set<string>();
  /** The error that a detached attachment shows, by UID. */
  const detached = new Map<string, string>();
  const isKept = (volume: PersistentVolume | undefined): boolean =>
    isHeld(volume) || overwritten.has(volume?.metadata?.uid ?? '');

  function beforePublish(volume: PersistentVolume | undefined, nodeId: unknown): void {
    const attachment = attachmentOf(stage, volume, nodeId);
    if (!isHeld(attachment)) breach('intent: ControllerPublishVolume without a VolumeAttachment that is held');
    if (!isKept(volume)) breach('intent: ControllerPublishVolume without a PersistentVolume that is held');
  }

  function beforeUnpublish(volume: PersistentVolume | undefined, nodeId: unknown): void {
    const attachment = attachmentOf(stage, volume, nodeId);
    const isWanted = attachment !== undefined && attachment.metadata?.deletionTimestamp === undefined;
    // A new attachment that nothing was published for loses nothing by the call for the one before it (D8).
    if (isWanted && (attachment.status?.attached === true || isOnNode(attachment))) {
      breach('in-use: ControllerUnpublishVolume while the VolumeAttachment is wanted');
    }
    if (isMounted(volume?.metadata?.name ?? '', String(nodeId))) {
      breach('in-use: ControllerUnpublishVolume while the node has the volume mounted');
    }
  }

  function lookAtDriver(): void {
    for (const { id, name, phase, attachments } of driver.volumes()) {
      if (phase !== 'ready' || attachments.length === 0) continue;
      const volume = volumeOf(stage, id);
      if (!isKept(volume)) breach(`protected: ${name} is attached and its PersistentVolume may go`);
      for (const { nodeId } of attachments) {
        const attachment = attachmentOf(stage, volume, nodeId);
        if (!isHeld(attachment)) breach(`protected: ${name} is on ${nodeId}, its attachment may go`);
      }
      if (attachments.length > 1) breach(`in-use: ${name} is attached to two nodes`);
    }
  }

  function isOnNode({ spec }: VolumeAttachment): boolean {
    const volume = objects.get(persistentVolumes, { name: spec.source.persistentVolumeName ?? '' });
    const stored = driver.volumes().find(({ id }) => id === volume?.spec?.csi?.volumeHandle);
    return stored?.attachments.some(({ nodeId }) => nodeId === nodeIdOf(spec.nodeName)) === true;
  }

  function lookAtStatus(attachment: VolumeAttachment): void {
    const { metadata, status } = attachment;
    const uid = metadata?.uid ?? '';
    const isWanted = metadata?.deletionTimestamp === undefined;
    const isAttached = status?.attached === true;
    const error = JSON.stringify(status?.detachError ?? null);
    if (error !== 'null' && error !== (detached.get(uid) ?? error)) {
      breach(`shown: attachment ${metadata?.name} is detached and gets an error`);
    }
    if (!isWanted && !isAttached && !isHeld(attachment)) detached.set(uid, error);
    // One that the driver has lost stays `attached` while it is attached again.
    if (isAttached && status.attachError !== undefined && isOnNode(attachment)) {
      breach(`shown: attachment ${metadata?.name} is attached and shows that it cannot be`);
    }
    if (!isAttached && isWanted && attachedOnce.has(uid) && isOnNode(attachment)) {
      breach(`shown: attachment ${metadata?.name} shows no more that it is attached`);
    }
    if (isAttached) attachedOnce.add(uid);
  }

  return {
    beforeCall({ method, request: { volume_id: handle, node_id: nodeId } }) {
      if (method === 'ControllerPublishVolume') beforePublish(volumeOf(stage, handle), nodeId);
      if (method === 'ControllerUnpublishVolume') beforeUnpublish(volumeOf(stage, handle), nodeId);
    },
    look() {
      lookAtDriver();
      for (const attachment of objects.list(volumeAttachments)) lookAtStatus(attachment);
    },
  };
}

function isHeld(object: { readonly metadata?: { readonly finalizers?: readonly string[] } } | undefined): boolean {
  return object?.metadata?.finalizers?.some((each) => each.startsWith('external-attacher/')) === true;
}
