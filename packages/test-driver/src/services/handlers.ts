// SPDX-License-Identifier: Apache-2.0
/** Every method of the driver in one table: its handler, and the capability without which it is UNIMPLEMENTED. */
import type { DecodedRequestOf, Method, ResponseInputOf } from '@csi-sidecars/csi';
import type { Call, Driver } from '../core/driver.ts';
import { checkLimits } from '../core/limits.ts';
import { refuse } from '../core/refusal.ts';
import type { Capabilities } from '../core/settings.ts';
import * as attach from './attach.ts';
import { createVolume } from './create-volume.ts';
import { deleteVolume } from './delete-volume.ts';
import * as expand from './expand.ts';
import * as groups from './groups.ts';
import type { Handler } from './handler.ts';
import * as health from './health.ts';
import * as identity from './identity.ts';
import { controllerModifyVolume } from './modify.ts';
import * as nodeInfo from './node-info.ts';
import * as nodePublish from './node-publish.ts';
import * as nodeStage from './node-stage.ts';
import * as snapshots from './snapshots.ts';
import * as volumes from './volumes.ts';

type Requirement = { readonly [K in keyof Capabilities]?: Capabilities[K][number] };

interface Row<M extends Method> {
  readonly handler: Handler<M>;
  readonly needs?: Requirement;
}

const controllerService: Requirement = { plugin: 'CONTROLLER_SERVICE' };
const groupService: Requirement = { plugin: 'GROUP_CONTROLLER_SERVICE' };
const createDeleteVolume: Requirement = { controller: 'CREATE_DELETE_VOLUME' };
const publishUnpublish: Requirement = { controller: 'PUBLISH_UNPUBLISH_VOLUME' };
const createDeleteSnapshot: Requirement = { controller: 'CREATE_DELETE_SNAPSHOT' };
const groupSnapshot: Requirement = { group: 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT' };
const stageUnstage: Requirement = { node: 'STAGE_UNSTAGE_VOLUME' };

const rows: { readonly [M in Method]: Row<M> } = {
  '/csi.v1.Identity/GetPluginInfo': { handler: identity.getPluginInfo },
  '/csi.v1.Identity/GetPluginCapabilities': { handler: identity.getPluginCapabilities },
  '/csi.v1.Identity/Probe': { handler: identity.probe },

  '/csi.v1.Controller/ControllerGetCapabilities': {
    handler: identity.controllerGetCapabilities,
    needs: controllerService,
  },
  '/csi.v1.Controller/CreateVolume': { handler: createVolume, needs: createDeleteVolume },
  '/csi.v1.Controller/DeleteVolume': { handler: deleteVolume, needs: createDeleteVolume },
  '/csi.v1.Controller/ControllerPublishVolume': { handler: attach.controllerPublishVolume, needs: publishUnpublish },
  '/csi.v1.Controller/ControllerUnpublishVolume': {
    handler: attach.controllerUnpublishVolume,
    needs: publishUnpublish,
  },
  '/csi.v1.Controller/ValidateVolumeCapabilities': {
    handler: volumes.validateVolumeCapabilities,
    needs: controllerService,
  },
  '/csi.v1.Controller/ListVolumes': { handler: volumes.listVolumes, needs: { controller: 'LIST_VOLUMES' } },
  '/csi.v1.Controller/ControllerGetVolume': {
    handler: volumes.controllerGetVolume,
    needs: { controller: 'GET_VOLUME' },
  },
  '/csi.v1.Controller/GetCapacity': { handler: volumes.getCapacity, needs: { controller: 'GET_CAPACITY' } },
  '/csi.v1.Controller/ControllerExpandVolume': {
    handler: expand.controllerExpandVolume,
    needs: { controller: 'EXPAND_VOLUME' },
  },
  '/csi.v1.Controller/ControllerModifyVolume': {
    handler: controllerModifyVolume,
    needs: { controller: 'MODIFY_VOLUME' },
  },
  '/csi.v1.Controller/CreateSnapshot': { handler: snapshots.createSnapshot, needs: createDeleteSnapshot },
  '/csi.v1.Controller/DeleteSnapshot': { handler: snapshots.deleteSnapshot, needs: createDeleteSnapshot },
  '/csi.v1.Controller/ListSnapshots': { handler: snapshots.listSnapshots, needs: { controller: 'LIST_SNAPSHOTS' } },
  '/csi.v1.Controller/GetSnapshot': { handler: snapshots.getSnapshot, needs: { controller: 'GET_SNAPSHOT' } },
  '/csi.v1.Controller/ControllerGetVolumeHealth': {
    handler: health.controllerGetVolumeHealth,
    needs: { controller: 'GET_VOLUME_HEALTH' },
  },
  '/csi.v1.Controller/ControllerListVolumeHealth': {
    handler: health.controllerListVolumeHealth,
    needs: { controller: 'LIST_VOLUME_HEALTH' },
  },

  '/csi.v1.GroupController/GroupControllerGetCapabilities': {
    handler: identity.groupControllerGetCapabilities,
    needs: groupService,
  },
  '/csi.v1.GroupController/CreateVolumeGroupSnapshot': {
    handler: groups.createVolumeGroupSnapshot,
    needs: groupSnapshot,
  },
  '/csi.v1.GroupController/DeleteVolumeGroupSnapshot': {
    handler: groups.deleteVolumeGroupSnapshot,
    needs: groupSnapshot,
  },
  '/csi.v1.GroupController/GetVolumeGroupSnapshot': { handler: groups.getVolumeGroupSnapshot, needs: groupSnapshot },

  '/csi.v1.Node/NodeGetCapabilities': { handler: identity.nodeGetCapabilities },
  '/csi.v1.Node/NodeGetInfo': { handler: nodeInfo.nodeGetInfo },
  '/csi.v1.Node/NodeStageVolume': { handler: nodeStage.nodeStageVolume, needs: stageUnstage },
  '/csi.v1.Node/NodeUnstageVolume': { handler: nodeStage.nodeUnstageVolume, needs: stageUnstage },
  '/csi.v1.Node/NodePublishVolume': { handler: nodePublish.nodePublishVolume },
  '/csi.v1.Node/NodeUnpublishVolume': { handler: nodePublish.nodeUnpublishVolume },
  '/csi.v1.Node/NodeGetVolumeStats': { handler: nodeInfo.nodeGetVolumeStats, needs: { node: 'GET_VOLUME_STATS' } },
  '/csi.v1.Node/NodeGetVolumeHealth': {
    handler: health.nodeGetVolumeHealth,
    needs: { node: 'GET_VOLUME_HEALTH' },
  },
  '/csi.v1.Node/NodeGetStorageHealth': {
    handler: health.nodeGetStorageHealth,
    needs: { node: 'GET_STORAGE_HEALTH' },
  },
  '/csi.v1.Node/NodeExpandVolume': { handler: expand.nodeExpandVolume, needs: { node: 'EXPAND_VOLUME' } },
};

export const methods: readonly Method[] = Object.keys(rows) as Method[];

export async function handle<M extends Method>(
  driver: Driver,
  { method, request }: { readonly method: M; readonly request: DecodedRequestOf<M> },
  call: Call,
): Promise<ResponseInputOf<M>> {
  const row: Row<M> = rows[method];
  if (row.needs !== undefined && !isOffered(driver.settings.capabilities, row.needs)) {
    refuse('Unimplemented', `${method} is not supported by this driver`);
  }
  checkLimits(request);
  return await row.handler(driver, request, call);
}

function isOffered(capabilities: Capabilities, needs: Requirement): boolean {
  return Object.entries(needs).every(([service, type]) =>
    (capabilities[service as keyof Capabilities] as readonly unknown[]).includes(type),
  );
}
