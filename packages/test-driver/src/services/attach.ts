// SPDX-License-Identifier: Apache-2.0
/** ControllerPublishVolume and ControllerUnpublishVolume: which nodes may reach a volume. */
import { isMultiNode, parseAccess, sameAccess } from '../core/access.ts';
import { exclusively, type Driver } from '../core/driver.ts';
import type { Access, Attachment, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { knownNode, type NodeSettings } from '../core/settings.ts';
import { matches } from '../core/topology.ts';
import type { Handler } from './handler.ts';
import { requireContext, requireVolume, volumeKey } from './lookup.ts';

export const controllerPublishVolume: Handler<'/csi.v1.Controller/ControllerPublishVolume'> = async (
  driver,
  request,
  call,
) => {
  const { settings, store } = driver;
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (request.node_id === '') refuse('InvalidArgument', 'node_id is missing');
  const access = parseAccess(settings, request.volume_capability);
  if (request.readonly && !settings.capabilities.controller.includes('PUBLISH_READONLY')) {
    refuse('InvalidArgument', 'readonly without the capability PUBLISH_READONLY');
  }
  const claim = { exclusive: [volumeKey(request.volume_id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = requireVolume(driver, request.volume_id);
    const node = knownNode(settings, request.node_id);
    if (node === undefined) refuse('NotFound', `node ${request.node_id} does not exist`);
    // The field is optional here, and csi-sanity leaves it out.
    if (Object.keys(request.volume_context).length > 0) requireContext(volume, request.volume_context);
    const wanted: Attachment = {
      nodeId: node.id,
      readonly: request.readonly,
      access,
      publishContext: { 'test-driver/attachment': `${volume.id} on ${node.id}`, ...settings.publishContext },
    };
    const attached = volume.attachments.find(({ nodeId }) => nodeId === node.id);
    if (attached !== undefined) {
      requireSame(volume, attached, wanted);
      return { publish_context: attached.publishContext };
    }
    requireAttachable(driver, { volume, node, access });
    await store.volumes.put({ ...volume, attachments: [...volume.attachments, wanted] });
    return { publish_context: wanted.publishContext };
  });
};

function requireSame(volume: VolumeRecord, attached: Attachment, wanted: Attachment): void {
  if (attached.readonly === wanted.readonly && sameAccess(attached.access, wanted.access)) return;
  refuse('AlreadyExists', `volume ${volume.id} is attached to node ${attached.nodeId} with other arguments`);
}

function requireAttachable(
  { store }: Driver,
  { volume, node, access }: { volume: VolumeRecord; node: NodeSettings; access: Access },
): void {
  if (access.type !== (volume.layout === 'block' ? 'block' : 'mount')) {
    refuse('InvalidArgument', `volume ${volume.id} does not have access type ${access.type}`);
  }
  if (volume.segments !== undefined && !matches(volume.segments, node.segments)) {
    refuse('FailedPrecondition', `volume ${volume.id} is not reachable from node ${node.id}`);
  }
  const elsewhere = volume.attachments[0];
  if (elsewhere !== undefined && !(isMultiNode(access) && isMultiNode(elsewhere.access))) {
    refuse('FailedPrecondition', `volume ${volume.id} is attached to node ${elsewhere.nodeId}`);
  }
  const onNode = store.volumes.all().filter((other) => other.attachments.some(({ nodeId }) => nodeId === node.id));
  if (node.maxVolumes > 0 && onNode.length >= node.maxVolumes) {
    refuse('ResourceExhausted', `node ${node.id} has its maximum of ${node.maxVolumes} volumes attached`);
  }
}

/**
 * Without a node id, the volume is detached from all nodes. A node that still has it staged is cut off, as by storage that fences a lost node;
 * that node may unmount it later.
 */
export const controllerUnpublishVolume: Handler<'/csi.v1.Controller/ControllerUnpublishVolume'> = async (
  driver,
  request,
  call,
) => {
  const { volume_id: id, node_id: from } = request;
  if (id === '') refuse('InvalidArgument', 'volume_id is missing');
  const claim = { exclusive: [volumeKey(id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = driver.store.volumes.ready(id);
    if (volume === undefined) return {};
    const stays = ({ nodeId }: { readonly nodeId: string }): boolean => from !== '' && nodeId !== from;
    if (volume.attachments.every(stays)) return {};
    await driver.store.volumes.put({
      ...volume,
      attachments: volume.attachments.filter(stays),
      stagings: volume.stagings.filter(stays),
      publications: volume.publications.filter(stays),
    });
    return {};
  });
};
