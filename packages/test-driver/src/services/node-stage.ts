// SPDX-License-Identifier: Apache-2.0
/** NodeStageVolume and NodeUnstageVolume: one place per node where a volume is made ready for its pods. */
import { parseAccess, sameAccess } from '../core/access.ts';
import { exclusively, type Call, type Driver } from '../core/driver.ts';
import type { Access, Staging, StringMap, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { sameMap } from '../core/string-map.ts';
import type { Handler } from './handler.ts';
import { requireContext, requireVolume, volumeKey } from './lookup.ts';

export const nodeStageVolume: Handler<'/csi.v1.Node/NodeStageVolume'> = async (driver, request, call) => {
  const path = request.staging_target_path;
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (path === '') refuse('InvalidArgument', 'staging_target_path is missing');
  const access = parseAccess(driver.settings, request.volume_capability);
  const claim = { exclusive: [volumeKey(request.volume_id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = requireVolume(driver, request.volume_id);
    requireContext(volume, request.volume_context);
    requireType(volume, access);
    requireAttached(driver, { volume, call, publishContext: request.publish_context });
    const staged = stagingOn(volume, call.nodeId);
    if (staged !== undefined && staged.path !== path) {
      refuse('FailedPrecondition', `volume ${volume.id} is staged at ${staged.path}`);
    }
    if (staged !== undefined && !sameAccess(staged.access, access)) {
      refuse('AlreadyExists', `volume ${volume.id} is staged with another capability`);
    }
    const staging: Staging = { nodeId: call.nodeId, path, access };
    await driver.backend.stage(volume, staging);
    if (staged === undefined) {
      await driver.store.volumes.put({ ...volume, stagings: [...volume.stagings, staging] });
    }
    return {};
  });
};

export function stagingOn(volume: VolumeRecord, nodeId: string): Staging | undefined {
  return volume.stagings.find((staging) => staging.nodeId === nodeId);
}

export function requireType(volume: VolumeRecord, access: Access): void {
  const type = volume.layout === 'block' ? 'block' : 'mount';
  if (access.type !== type)
    refuse('InvalidArgument', `volume ${volume.id} has access type ${type}, not ${access.type}`);
}

interface OnNode {
  readonly volume: VolumeRecord;
  readonly call: Call;
  readonly publishContext: StringMap;
}

/** If the driver has attach, a volume must be attached to the node first, and the publish context must arrive unchanged. */
export function requireAttached({ settings }: Driver, { volume, call, publishContext }: OnNode): void {
  if (!settings.capabilities.controller.includes('PUBLISH_UNPUBLISH_VOLUME')) return;
  const attachment = volume.attachments.find(({ nodeId }) => nodeId === call.nodeId);
  if (attachment === undefined) {
    refuse('FailedPrecondition', `volume ${volume.id} is not attached to node ${call.nodeId}`);
  }
  if (!sameMap(publishContext, attachment.publishContext)) {
    refuse('InvalidArgument', `publish_context is not the one of the attachment of volume ${volume.id}`);
  }
}

export const nodeUnstageVolume: Handler<'/csi.v1.Node/NodeUnstageVolume'> = async (driver, request, call) => {
  const path = request.staging_target_path;
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (path === '') refuse('InvalidArgument', 'staging_target_path is missing');
  const claim = { exclusive: [volumeKey(request.volume_id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = requireVolume(driver, request.volume_id);
    const published = volume.publications.find(({ nodeId }) => nodeId === call.nodeId);
    if (published !== undefined) {
      refuse('FailedPrecondition', `volume ${volume.id} is still published at ${published.path}`);
    }
    const staged = stagingOn(volume, call.nodeId);
    if (staged !== undefined && staged.path !== path) return {};
    await driver.backend.unstage(volume, path);
    if (staged !== undefined) {
      await driver.store.volumes.put({ ...volume, stagings: volume.stagings.filter((other) => other !== staged) });
    }
    return {};
  });
};
