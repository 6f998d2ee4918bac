// SPDX-License-Identifier: Apache-2.0
/**
 * Which volumes have to be attached to which nodes, and the next action for one attachment. Pure. First match wins:
 *
 * | wanted by a pod | attachment | condition | action |
 * |---|---|---|---|
 * | yes | none | attached to another node, and the volume is for one node only | refuse: Multi-Attach |
 * | yes | none | else | create |
 * | yes | being deleted | | none: a new one follows its end |
 * | yes | attached | node does not report it | report |
 * | yes | failed | | fail: an event of the pod reports it |
 * | no | exists | the node uses the volume, is in service, and healthy or silent for less than six minutes | wait for the unmount |
 * | no | exists | the node reports it | unreport, so that kubelet does not mount it again |
 * | no | exists | else | delete |
 */
import { createHash } from 'node:crypto';
import type { Node, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import { outOfServiceTaint } from '../annotations.ts';

/** One volume on one node. */
export interface VolumeOnNode {
  readonly volume: PersistentVolume;
  readonly nodeName: string;
}

/** As the attach/detach controller names it: kubelet computes the same name and looks for it. */
export function attachmentName({ volume, nodeName }: VolumeOnNode): string {
  const { driver = '', volumeHandle = '' } = volume.spec?.csi ?? {};
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex')}`;
}

/** The volume's name in `volumesInUse` and `volumesAttached` of a node's status. */
export function uniqueVolumeName(volume: PersistentVolume): string {
  return `kubernetes.io/csi/${volume.spec?.csi?.driver ?? ''}^${volume.spec?.csi?.volumeHandle ?? ''}`;
}

export interface AttachmentState {
  readonly volume: PersistentVolume;
  readonly wanted: 'wanted' | 'unwanted';
  readonly attachment: VolumeAttachment | undefined;
  /** Attachments of the same volume on other nodes. */
  readonly elsewhere: readonly VolumeAttachment[];
  readonly node: Node | undefined;
  /** The node, or its last known state if it is gone. */
  readonly lastSeen?: Node;
  /** The time since which no pod wants it. */
  readonly unwantedForMs?: number;
}

/** How long kubelet may take to unmount before a volume is detached from a silent node. */
export const unmountMs = 360_000;

export type AttachmentAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'create' }
  | { readonly kind: 'refuse'; readonly nodeNames: readonly string[] }
  | { readonly kind: 'report' }
  | { readonly kind: 'fail'; readonly message: string }
  | { readonly kind: 'wait' }
  | { readonly kind: 'unreport' }
  | { readonly kind: 'delete' };

const none: AttachmentAction = { kind: 'none' };

export function decideAttachment(state: AttachmentState): AttachmentAction {
  const { volume, attachment, elsewhere, node } = state;
  const reported = node?.status?.volumesAttached?.some(({ name }) => name === uniqueVolumeName(volume)) === true;
  if (state.wanted === 'wanted') {
    if (attachment === undefined) {
      if (isSingleNode(volume) && elsewhere.length > 0) {
        return { kind: 'refuse', nodeNames: elsewhere.map(({ spec }) => spec.nodeName) };
      }
      return { kind: 'create' };
    }
    if (attachment.metadata?.deletionTimestamp !== undefined) return none;
    const { attached, attachError } = attachment.status ?? {};
    if (attached !== true) {
      return attachError === undefined ? none : { kind: 'fail', message: attachError.message ?? '' };
    }
    return !reported && node !== undefined ? { kind: 'report' } : none;
  }
  if (attachment === undefined || attachment.metadata?.deletionTimestamp !== undefined) {
    return reported && attachment === undefined ? { kind: 'unreport' } : none;
  }
  const inUse = (node ?? state.lastSeen)?.status?.volumesInUse?.includes(uniqueVolumeName(volume)) === true;
  const isLost = !isHealthy(node) && (state.unwantedForMs ?? 0) >= unmountMs;
  if (inUse && !isOutOfService(node) && !isLost) return { kind: 'wait' };
  return reported ? { kind: 'unreport' } : { kind: 'delete' };
}

function isSingleNode(volume: PersistentVolume): boolean {
  const shared = ['ReadWriteMany', 'ReadOnlyMany'];
  return !(volume.spec?.accessModes ?? []).some((mode) => shared.includes(mode));
}

function isOutOfService(node: Node | undefined): boolean {
  return node?.spec?.taints?.some(({ key, effect }) => key === outOfServiceTaint && effect === 'NoExecute') === true;
}

function isHealthy(node: Node | undefined): boolean {
  return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}
