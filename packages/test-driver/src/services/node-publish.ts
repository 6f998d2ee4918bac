// SPDX-License-Identifier: Apache-2.0
/**
 * NodePublishVolume and NodeUnpublishVolume: a volume at a pod's path. Effect first, then the record: a publish whose
 * record was lost in a crash is repeated by its caller, and repeating it changes nothing.
 */
import type { NodePublishVolumeRequest } from '@csi-sidecars/csi';
import { isMultiTarget, parseAccess, sameAccess } from '../core/access.ts';
import { exclusively, type Call, type Driver } from '../core/driver.ts';
import type { Access, Publication, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { removeVolume } from './delete-volume.ts';
import { isEphemeral, makeEphemeral } from './ephemeral.ts';
import type { Handler } from './handler.ts';
import { requireContext, requireVolume, volumeKey } from './lookup.ts';
import { requireAttached, requireType, stagingOn } from './node-stage.ts';

export const nodePublishVolume: Handler<'/csi.v1.Node/NodePublishVolume'> = async (driver, request, call) => {
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (request.target_path === '') refuse('InvalidArgument', 'target_path is missing');
  const access = parseAccess(driver.settings, request.volume_capability);
  const claim = { exclusive: [volumeKey(request.volume_id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = isEphemeral(request.volume_context)
      ? await makeEphemeral(driver, request, access)
      : requirePublishable(driver, { request, call, access });
    const wanted: Publication = {
      nodeId: call.nodeId,
      path: request.target_path,
      stagingPath: request.staging_target_path,
      readonly: request.readonly,
      access,
    };
    const published = requireFree(volume, wanted);
    try {
      await driver.backend.publish(volume, wanted);
      if (published === undefined) {
        await driver.store.volumes.put({ ...volume, publications: [...volume.publications, wanted] });
      }
    } catch (error) {
      if (volume.lifecycle === 'ephemeral' && volume.publications.length === 0) {
        await undo(driver, volume, wanted).catch(() => undefined); // the first failure is the one to report
      }
      throw error;
    }
    return {};
  });
};

/** No caller unpublishes a volume that was never published, so an inline volume whose publish failed is removed here. */
async function undo(driver: Driver, volume: VolumeRecord, { path }: Publication): Promise<void> {
  const { backend } = driver;
  if (!(await backend.isForeign(volume.id, path))) await backend.unpublish(volume.id, path);
  await removeVolume(driver, volume);
}

interface Attempt {
  readonly request: NodePublishVolumeRequest;
  readonly call: Call;
  readonly access: Access;
}

function requirePublishable(driver: Driver, { request, call, access }: Attempt): VolumeRecord {
  const volume = requireVolume(driver, request.volume_id);
  requireContext(volume, request.volume_context);
  requireType(volume, access);
  requireAttached(driver, { volume, call, publishContext: request.publish_context });
  if (!driver.settings.capabilities.node.includes('STAGE_UNSTAGE_VOLUME')) return volume;
  const staged = stagingOn(volume, call.nodeId);
  if (request.staging_target_path === '') refuse('FailedPrecondition', 'staging_target_path is missing');
  if (staged?.path !== request.staging_target_path) {
    refuse('FailedPrecondition', `volume ${volume.id} is not staged at ${request.staging_target_path}`);
  }
  return volume;
}

/** The table of repeated publishes: same path and arguments, same path only, another path. */
function requireFree(volume: VolumeRecord, wanted: Publication): Publication | undefined {
  const there = volume.publications.find(({ path }) => path === wanted.path);
  if (there !== undefined) {
    const same =
      there.stagingPath === wanted.stagingPath &&
      there.readonly === wanted.readonly &&
      sameAccess(there.access, wanted.access);
    if (same) return there;
    refuse('AlreadyExists', `volume ${volume.id} is published at ${wanted.path} with other arguments`);
  }
  const onNode = volume.publications.find(({ nodeId }) => nodeId === wanted.nodeId);
  if (onNode !== undefined && !isMultiTarget(wanted.access)) {
    refuse('FailedPrecondition', `volume ${volume.id} is published at ${onNode.path}`);
  }
  return undefined;
}

/**
 * An unknown volume was unpublished before (as every ephemeral one in the end), or deleted while its node was lost. Both
 * need a clean path; only a foreign mount at that path is NOT_FOUND.
 */
export const nodeUnpublishVolume: Handler<'/csi.v1.Node/NodeUnpublishVolume'> = async (driver, request, call) => {
  const { volume_id: id, target_path: path } = request;
  if (id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (path === '') refuse('InvalidArgument', 'target_path is missing');
  return await exclusively({ driver, call, claim: { exclusive: [volumeKey(id)] } }, async () => {
    const volume = driver.store.volumes.get(id);
    if (volume === undefined && (await driver.backend.isForeign(id, path))) {
      refuse('NotFound', `volume ${id} does not exist`);
    }
    await driver.backend.unpublish(id, path);
    if (volume === undefined) return {};
    const publications = volume.publications.filter((publication) => publication.path !== path);
    const remaining: VolumeRecord = { ...volume, publications };
    if (volume.lifecycle === 'ephemeral' && publications.length === 0) await removeVolume(driver, remaining);
    else if (publications.length < volume.publications.length) await driver.store.volumes.put(remaining);
    return {};
  });
};
